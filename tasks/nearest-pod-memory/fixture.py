"""Pods and what runs in them, one within the tree of another: five in odd worlds, four in even
ones."""

from fluency.world import HelperSpec


def extend(builder, rng):
    # Mebibytes by what is charged; the nested pod has the most, and more digits than the others in
    # KiB.
    nested = rng.between(108, 112)
    ranks = rng.pick(
        (
            ("deep", "self", "outer"),
            ("deep", "outer", "self"),
            ("self", "deep", "outer"),
            ("outer", "deep", "self"),
        )
    )
    sums = {rank: 83 - 22 * place + rng.between(0, 2) for place, rank in enumerate(ranks)}

    def named(key, name, rss_mb, parent=None):
        return HelperSpec(key, name, ("--id", str(rng.between(100, 999))), parent, rss_mb=rss_mb)

    outer = [
        named("outer", "vox-pod", 4),
        named("outer-gc", "vox-pod-gc", 4, "outer"),
        named(
            "outer-gc-task", "vox-task", sums["outer"] - 12, "outer-gc"
        ),  # large, and in the look-alike
        named("outer-relay", "vox-relay", 4, "outer"),
        named("nested", "vox-pod", 4, "outer-relay"),
        named("nested-task", "vox-task", nested - 34, "nested"),
        named("nested-deep", "vox-embed", 30, "nested-task"),
    ]
    own = [named("self", "vox-pod", sums["self"] - 4), named("self-task", "vox-task", 4, "self")]
    deep = [
        named("deep", "vox-pod", 4),
        named("deep-shell", "vox-shell", 4, "deep"),
        named("deep-task", "vox-task", sums["deep"] - 8, "deep-shell"),
    ]
    groups = [outer, own, deep]
    if builder.odd:
        groups.append([named("small", "vox-pod", 8), named("small-task", "vox-task", 8, "small")])
    for group in rng.shuffled(groups):
        for helper in group:
            builder.process(helper)
