"""The last folder of crates/ is a crate without README.md, for loops that end in a test; it has a readme.md."""


def extend(builder, rng):
    builder.file("crates/xtask/Cargo.toml", '[package]\nname = "xtask"\nversion.workspace = true\n')
    builder.file("crates/xtask/src/main.rs", "fn main() {}\n")
    builder.file("crates/xtask/readme.md", "# xtask\n")
