"""An inbox of dated files; the number of files under reports/ has the seed's parity."""

TOPICS = [
    "churn",
    "costs",
    "grants",
    "leads",
    "margins",
    "orders",
    "refunds",
    "sales",
    "stock",
    "visits",
]
DAYS = [
    "0101",
    "0131",
    "0201",
    "0430",
    "0501",
    "0731",
    "0801",
    "0919",
    "0930",
    "1031",
    "1101",
    "1231",
]
"""First and last days of months at the ends of quarters, and months 08 and 09."""


def extend(builder, rng):
    def topic():
        word = rng.pick(TOPICS)
        return rng.pick((word, f"{word}_eu", f"{word} north", f"{word}-{rng.between(2, 9)}"))

    def year():
        return rng.pick((2019, 2024, 2025, 2026))

    dated = [f"{year()}{day}" for day in DAYS]
    dated += [f"{year()}{month:02d}{rng.between(10, 28)}" for month in range(1, 13)]
    moved = [f"inbox/{topic()}_{date}.csv" for date in dated]
    # The last one by name, for loops that end in a test.
    moved.append(f"inbox/yields_{year()}08{rng.between(10, 28)}.csv")
    moved = list(dict.fromkeys(moved))
    day = rng.between(10, 28)
    others = [
        f"inbox/{topic()}_2026-05-{day}.csv",
        f"inbox/{topic()}_20260{rng.between(1, 9)}{rng.between(1, 9)}.csv",
        f"inbox/{topic()}_202604{day}.csv.bak",
        f"inbox/{topic()}_202603{day}.txt",
        f"inbox/{topic()}_202605{day}.CSV",
        f"inbox/202606{day}_{topic()}.csv",
        f"inbox/{topic()}_202607{day}_draft.csv",
        f"inbox/old/{topic()}_202602{day}.csv",
        f"FY2025-Q{rng.between(1, 4)}/index.txt",
        f"FY2026-Q{rng.between(1, 4)}/index.txt",
    ]
    there = sum(path.startswith("reports/") for path in builder.files)
    if (there + len(moved) + len(others)) % 2 != builder.odd:
        others.append("inbox/README.md")
    for path in rng.shuffled([*moved, *others]):
        builder.file(f"reports/{path}", f"id,value\n{rng.below(100)},{rng.below(1000)}\n")
