"""A process whose name begins with vox-sched, and a child of it."""

from fluency.world import HelperSpec


def extend(builder, rng):
    builder.process(HelperSpec("sched-gc", "vox-sched-gc", ("--every", str(rng.between(10, 90)))))
    builder.process(
        HelperSpec(
            "sched-gc-relay", "vox-relay", ("--port", str(rng.between(8000, 8999))), "sched-gc"
        )
    )
