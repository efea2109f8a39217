"""Jobs of different names: two or four in odd worlds, three or five in even ones."""

from fluency.world import HelperSpec

KINDS = ("backup", "export", "import", "mail", "reindex", "rotate")


def extend(builder, rng):
    builder.process(HelperSpec("next", "next-job-list", ("--once",)))
    count = rng.pick((2, 4) if builder.odd else (3, 5))
    for kind in rng.sample(KINDS, count):
        builder.process(HelperSpec(f"job-{kind}", f"job-{kind}", ("--once",)))
