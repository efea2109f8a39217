"""Eleven reports in three folders, an odd number of them empty in odd worlds."""

FOLDERS = ("reports", "reports/daily", "reports/weekly/old")


def extend(builder, rng):
    empty = rng.pick((3, 5) if builder.odd else (2, 4))
    for place, number in enumerate(rng.shuffled(range(1, 12))):
        lines = 0 if place < empty else rng.between(1, 20)
        text = f"ok {rng.below(1000)}\n" * lines
        builder.file(f"{FOLDERS[place % 3]}/run-{number:02d}.txt", text)
    # Neither a file of one line end nor an empty folder is an empty file.
    builder.file("reports/daily/last.txt", "\n")
    builder.folder("reports/monthly")
