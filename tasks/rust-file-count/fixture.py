"""A copy that only looks like Rust, and a Rust file more where the base world's number has not the parity of the seed."""


def extend(builder, rng):
    builder.file("crates/vox-corpus/notes/load.rs.bk", "fn main() {}\n")
    rust = [path for path in builder.files if path.startswith("crates/") and path.endswith(".rs")]
    if len(rust) % 2 != builder.odd:
        builder.file("crates/vox-corpus/benches/load.rs", "fn main() {}\n")
