"""The last crate uses reqwest, so that a loop that ends in a test ends with status 0; a nested manifest uses it too."""


def extend(builder, rng):
    uses = '\n[dependencies]\nreqwest = "0.12"\n'
    builder.file(
        "crates/xtask/Cargo.toml", f'[package]\nname = "xtask"\nversion.workspace = true\n{uses}'
    )
    builder.files["crates/scratch-notes/draft/Cargo.toml"] += uses.encode()
