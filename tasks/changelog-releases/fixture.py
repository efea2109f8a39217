"""The last line is a release, so that a loop that ends in a test ends with 0; its version and date are in no order."""


def extend(builder, rng):
    imported = f"\n## [1.0.{rng.below(10)}] - 2020-0{rng.between(1, 9)}-{rng.between(10, 28)}\n"
    builder.files["CHANGELOG.md"] += imported.encode()
