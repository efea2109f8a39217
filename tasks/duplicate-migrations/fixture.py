"""Migrations: one or three numbers are used more than once in odd worlds, two in even ones."""

WORDS = ("users", "orders", "index", "audit", "mail", "tokens", "stock", "prices")


def extend(builder, rng):
    def add(path):
        builder.file(f"db/migrations/{path}", f"-- {rng.below(10**6)}\n")

    def name(number):
        found = f"{number:04}_{rng.pick(WORDS)}_{rng.below(1000)}"
        return name(number) if f"db/migrations/{found}.sql" in builder.files else found

    numbers = [9990 if builder.odd else 9909, *rng.sample(range(2, 90), 17)]
    twice = numbers[: rng.pick((1, 3)) if builder.odd else 2]
    for number in (*numbers, *twice, twice[0]):
        add(f"{name(number)}.sql")
    # What looks like a second migration of a number that has only one.
    archived, backup, capitals, longer, tail, folder = numbers[10:16]
    add(f"archive/{name(archived)}.sql")
    add(f"{name(backup)}.sql.bak")
    add(f"{name(capitals)}.SQL")
    add(f"{longer:04}7_{rng.pick(WORDS)}.sql")
    add(f"1{tail:04}_{rng.pick(WORDS)}.sql")
    add(f"{name(folder)}.sql/README.md")
