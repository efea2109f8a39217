"""SQL files at three depths under db/, an odd number in odd worlds, and four that only look alike."""

FOLDERS = ("db/migrations/2026", "db", "db/seeds")
TABLES = ("accounts", "events", "indexes", "orders", "teams", "users")
OTHERS = ("README.md", "local.sqlite", "migrations/order.txt", "seeds/old.sql.bak")


def extend(builder, rng):
    count = rng.pick((3, 5) if builder.odd else (4, 6))
    for place, table in enumerate(rng.sample(TABLES, count)):
        text = f"CREATE TABLE {table} (id INTEGER PRIMARY KEY);\n"
        builder.file(f"{FOLDERS[place % 3]}/{table}.sql", text)
    for name in OTHERS:
        builder.file(f"db/{name}", f"-- {rng.below(1000)}\n")
