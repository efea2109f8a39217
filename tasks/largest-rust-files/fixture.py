"""The second largest .rs file is in no src folder."""


def extend(builder, rng):
    largest = max(len(data) for path, data in builder.files.items() if path.endswith("/tables.rs"))
    size = 80_000 + rng.below(largest - 80_000)
    builder.file("crates/vox-db/benches/rows.rs", "// row\n" * (size // 7) + "\n" * (size % 7))
