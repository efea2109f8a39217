"""A crate whose lockfile is a quarter of an hour older than its manifest, within one day of age."""


def extend(builder, rng):
    days = rng.between(9, 40)
    manifest = '[package]\nname = "bench-kit"\nversion.workspace = true\n'
    builder.file("crates/bench-kit/Cargo.toml", manifest, age_days=days + 0.30)
    builder.file("crates/bench-kit/Cargo.lock", "version = 3\n", age_days=days + 0.31)
