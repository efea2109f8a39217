"""The last folder under crates/ is empty, so that a loop that ends in a test ends with status 0."""


def extend(builder, rng):
    builder.folder("crates/workspace-hack/tmp")
