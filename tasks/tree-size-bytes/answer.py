"""The sum of the sizes of all files under crates/vox-corpus."""


def expected(world, processes):
    return [str(sum(len(data) for data in world.under("crates/vox-corpus").values()))]
