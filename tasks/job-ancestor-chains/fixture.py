"""Processes named "vox job" below others whose names hold blanks and brackets; five in odd worlds,
four in even ones."""

from fluency.world import HelperSpec

POOLS = ("pool (2)", "pool (hot)", "vox pool 7", "pool 1 (b)")
LANES = ("lane ) 1 (b", "lane (3) [x]", "lane 4 ) 0", "fast lane (")
STAGES = ("stage [a]", "stage [1-9]", "[stage] 2", "stage ] (x")
LEAVES = ("vox", "job", "vox-job", "vox job 2")
JOB = "vox job"


def extend(builder, rng):
    pool, lane, stage = rng.pick(POOLS), rng.pick(LANES), rng.pick(STAGES)
    siblings = [
        HelperSpec("pool", pool),
        HelperSpec("lane", lane, ("--lane", "1"), "pool"),
        HelperSpec("job-1", JOB, (), "lane"),
        HelperSpec("job-2", JOB, ("--again",), "lane"),
    ]
    alone = [HelperSpec("job-3", JOB, ("--alone",))]
    nested = HelperSpec("job-4", JOB, ("--nested",), "between" if rng.chance(50) else "job-3")
    alone += [HelperSpec("between", stage, (), "job-3"), nested]
    groups = [siblings, alone]
    if builder.odd:
        last = rng.pick((stage, rng.pick(POOLS), "vox job 2"))
        groups.append([HelperSpec("other", last), HelperSpec("job-5", JOB, (), "other")])
    decoys = [
        HelperSpec(f"decoy-{number}", name, (), rng.pick((None, "lane")))
        for number, name in enumerate(LEAVES)
    ]
    order = [helper for group in rng.shuffled(groups) for helper in group]
    for helper in (*order, *rng.shuffled(decoys)):
        builder.process(helper)
