"""Files under crates/vox-ml-cli younger than seven days and larger than 10240 bytes."""

WEEK_S = 7 * 86_400


def expected(world, processes):
    own = world.under("crates/vox-ml-cli")
    return [path for path, data in own.items() if world.ages[path] < WEEK_S and len(data) > 10_240]
