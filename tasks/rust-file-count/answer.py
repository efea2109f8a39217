"""The number of Rust files under crates/."""


def expected(world, processes):
    rust = [path for path in world.under("crates") if path.endswith(".rs")]
    return [str(len(rust))]
