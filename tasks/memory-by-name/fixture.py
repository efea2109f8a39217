"""Many processes of one name that outweigh the largest single one, and a few of another that do
not."""

from collections import Counter
from dataclasses import replace

from fluency.world import HelperSpec

# Mebibytes of each process: 120 and 60 in all, none as much as the base world's largest.
MOST = {4: (22, 28, 33, 37), 5: (17, 21, 24, 27, 31)}
THIRD = {2: (27, 33), 3: (15, 20, 25)}
GAP_MB = 8


def extend(builder, rng):
    most, third = rng.sample(("vox-graph", "vox-shard", "vox-rank", "vox-tensor"), 2)
    # The largest total has an odd count in odd worlds, an even one in even worlds.
    many = [
        HelperSpec(f"most-{mb}", most, ("--part", str(mb)), rss_mb=mb)
        for mb in MOST[5 if builder.odd else 4]
    ]
    many[:2] = [replace(helper, threads=("",)) for helper in many[:2]]
    few = [
        HelperSpec(f"third-{mb}", third, ("--part", str(mb)), rss_mb=mb)
        for mb in THIRD[rng.between(2, 3)]
    ]
    for helper in rng.shuffled([*many, *few]):
        builder.process(helper)
    _check(builder)


def _check(builder):
    own = [helper for helper in builder.processes if helper.name.startswith("vox-")]
    totals = Counter()
    for helper in own:
        totals[helper.name] += helper.rss_mb
    ranked = totals.most_common(4)
    gaps = [ranked[place][1] - ranked[place + 1][1] for place in range(3)]
    # Each process has about a mebibyte beside what it is asked to take; workers are four at most.
    builder.require(min(gaps) > GAP_MB + 8, f"more than {GAP_MB} MiB between the totals {ranked}")
    largest = max(own, key=lambda helper: helper.rss_mb)
    builder.require(
        ranked[1][0] == largest.name, "the largest process has the second largest total"
    )
