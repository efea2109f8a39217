"""The last crate has a literal version, so that a loop that ends in a test ends with 0; its folder has another name."""


def extend(builder, rng):
    version = f"0.{rng.between(1, 9)}.{rng.below(10)}"
    builder.file(
        "crates/xtask/Cargo.toml",
        f'[package]\nname = "vox-xtask"\nversion = "{version}"\n\n[dependencies]\n',
    )
