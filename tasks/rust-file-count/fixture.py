"""A copy that only looks like Rust, and one or two Rust files beside src, for the parity."""


def extend(builder, rng):
    builder.file("crates/vox-corpus/notes/load.rs.bk", "fn main() {}\n")
    rust = [path for path in builder.files if path.startswith("crates/") and path.endswith(".rs")]
    for name in ("load", "store")[: 1 + (len(rust) % 2 == builder.odd)]:
        builder.file(f"crates/vox-corpus/benches/{name}.rs", "fn main() {}\n")
