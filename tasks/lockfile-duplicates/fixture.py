"""The last name of Cargo.lock has three tables, two of one version: a loop over the sorted names ends with status 0."""


def extend(builder, rng):
    old, new = (f"{major}.{rng.below(30)}.{rng.below(12)}" for major in (0, 1))
    registry = "registry+https://github.com/rust-lang/crates.io-index"
    fork = f"git+https://github.com/vox/zeroize#{rng.bytes(20).hex()}"
    for version, source in ((old, registry), (new, fork), (new, registry)):
        builder.files["Cargo.lock"] += (
            f'\n[[package]]\nname = "zeroize"\nversion = "{version}"\nsource = "{source}"\n'
        ).encode()
