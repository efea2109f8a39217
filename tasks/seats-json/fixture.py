"""A table of seats."""

FIRST = ("Ada", "Bo", "Cyd", "Dan", "Eve", "Flo", "Gus", "Hal", "Ida", "Jon")
LAST = ("Lind", "Moss", "Nair", "Ochs", "Pohl")


def extend(builder, rng):
    seats = [9, 10, 100, *(rng.between(2, 99) for _ in range(7))]
    rows = ["name,team,joined,seats"]
    for number, (first, count) in enumerate(
        zip(rng.shuffled(FIRST), rng.shuffled(seats), strict=True)
    ):
        last = rng.pick(LAST)
        name = f'"{last}, {first}"' if number % 3 else f"{first} {last}"
        team = rng.pick(("mesh", "Mesh", "store", "web"))
        rows.append(f"{name},{team},20{rng.between(18, 26)}-0{rng.between(1, 9)},{count}")
    builder.file("data/seats.csv", "\n".join(rows) + "\n")
