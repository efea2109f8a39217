"""Two processes whose names begin with vox-sched, each with a child: one starts first, one last."""

from fluency.world import HelperSpec


def extend(builder, rng):
    started, builder.processes = builder.processes, []
    for name in ("vox-sched-cron", "vox-sched-gc"):
        port = str(rng.between(8000, 8999))
        builder.process(HelperSpec(name, name, ("--every", str(rng.between(10, 90)))))
        builder.process(HelperSpec(f"{name}-relay", "vox-relay", ("--port", port), name))
        if started:
            builder.processes, started = [*builder.processes, *started], []
