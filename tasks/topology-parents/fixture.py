"""A plan of parents and processes that keep to it or do not: five misplaced ones in odd worlds,
four in even ones."""

import json

from fluency.world import HelperSpec


def extend(builder, rng):
    plan = {
        "vox-init": None,
        "vox-guard": None,
        "vox-hub": "vox-init",
        "vox-agent": "vox-hub",
        "vox-sink": "vox-hub",
        "vox-probe": "vox-agent",
        "vox-store": "vox-init",
    }
    keys = iter(range(100))

    def started(name, parent=None, **more):
        helper = HelperSpec(
            f"plan-{next(keys)}", name, ("--slot", str(rng.between(10, 99))), parent, **more
        )
        made.append(helper)
        return helper.key

    made = []
    init = started("vox-init")
    hub = started("vox-hub", init)
    agent = started("vox-agent", hub)
    for _ in range(rng.between(1, 2)):
        started("vox-sink", hub)
    started("vox-probe", agent)
    started("vox-store", init)
    old = started("vox-hub-old", init)
    started("vox-agent", old)  # the right parent's name, and more
    # Not in the file.
    started("vox-stray", agent)
    started("vox-init-gc", init)
    groups, made = [made], []
    # Under PID 1, because its parent has ended.
    ended = started("vox-agent", ends=True)
    started("vox-probe", ended)
    groups, made = [*groups, made], []
    started("vox-guard")
    groups = rng.shuffled([*groups, made])
    # Last, so that the highest process id is a misplaced one's.
    made = []
    relay = started("vox-route")
    if builder.odd:
        started("vox-store", relay)
    started("vox-guard", relay)  # should be under PID 1
    started("vox-sink", relay)
    for group in (*groups, made):
        for helper in group:
            builder.process(helper)
    builder.file(
        "config/topology.json", json.dumps(dict(rng.shuffled(list(plan.items()))), indent=2) + "\n"
    )
