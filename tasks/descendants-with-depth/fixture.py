"""A tree of processes four deep, an older one of nearly the same name, and one that belongs to
neither."""

from fluency.world import HelperSpec

NAMES = ("vox-step", "vox-cc", "vox-link")
DEEPEST = 4


def extend(builder, rng):
    # An odd number of descendants in odd worlds, an even one in even worlds.
    count = rng.pick((7, 9, 11) if builder.odd else (8, 10))
    depths = {"builder": 0}
    parents = {}
    for depth in range(1, DEEPEST + 1):  # one branch all the way down
        parents[f"step-{depth}"] = "builder" if depth == 1 else f"step-{depth - 1}"
        depths[f"step-{depth}"] = depth
    top = rng.between(1, 2)  # further children of the root itself
    for number in range(DEEPEST + 1, count + 1):
        inner = [key for key, depth in depths.items() if 0 < depth < DEEPEST]
        parents[f"step-{number}"] = "builder" if number <= DEEPEST + top else rng.pick(inner)
        depths[f"step-{number}"] = depths[parents[f"step-{number}"]] + 1
    apart = set(rng.sample(sorted(parents), count // 3))
    tree = [HelperSpec("builder", "vox-builder", ("--jobs", str(rng.between(2, 8))))]
    tree += [
        HelperSpec(
            key,
            rng.pick(NAMES),
            ("--unit", f"u{rng.between(100, 999)}"),
            parent,
            own_session=key in apart,
        )
        for key, parent in parents.items()
    ]
    older = [
        HelperSpec("gc-builder", "vox-builder-gc", ("--keep", "3")),
        HelperSpec("gc-step", "vox-step", ("--unit", "old"), "gc-builder"),
        HelperSpec("gc-link", "vox-link", ("--unit", "old"), "gc-step"),
    ]
    alone = HelperSpec("alone", "vox-link", ("--unit", "none"))
    for helper in (*older, alone, *tree) if rng.chance(50) else (*older, *tree, alone):
        builder.process(helper)
    builder.require(7 <= len(parents) <= 11, f"7 to 11 descendants, not {len(parents)}")
    builder.require(max(depths.values()) == DEEPEST, f"{DEEPEST} levels")
