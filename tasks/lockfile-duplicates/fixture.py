"""The last name of Cargo.lock has two tables, so that a loop over the sorted names that ends in a test ends with 0."""


def extend(builder, rng):
    for major in (0, 1):
        version = f"{major}.{rng.below(30)}.{rng.below(12)}"
        builder.files["Cargo.lock"] += (
            f'\n[[package]]\nname = "zeroize"\nversion = "{version}"\n'.encode()
        )
