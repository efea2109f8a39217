"""A file of services, and of each as many replicas as it says, too few, too many or none."""

import json

from fluency.world import HelperSpec

# Odd and even worlds have no service in common.
NAMES = {
    True: ("eval", "gate", "judge", "oratio", "render"),
    False: ("embed", "ingest", "mesh", "publish", "rank"),
}


def extend(builder, rng):
    whole, absent, short, unused, crowded = rng.shuffled(NAMES[builder.odd])
    wanted, running = {}, {}
    wanted[whole] = running[whole] = rng.between(1, 3)
    wanted[f"{whole}-eu"] = running[f"{whole}-eu"] = rng.between(1, 2)
    wanted[absent], running[absent] = rng.between(1, 3), 0
    wanted[short] = rng.between(2, 3)
    running[short] = wanted[short] - 1
    wanted[unused] = running[unused] = 0
    wanted[crowded] = rng.between(1, 2)
    running[crowded] = wanted[crowded] + 1
    order = [*rng.shuffled([name for name in wanted if name != crowded]), crowded]
    services = [{"name": name, "replicas": wanted[name]} for name in order]
    text = (
        json.dumps(services, indent=2)
        if rng.chance(50)
        else json.dumps(services, separators=(",", ":"))
    )
    builder.file("config/services.json", f"{text}\n")

    names = [name for name, count in running.items() for _ in range(count)] + ["scratch"]
    helpers = [
        HelperSpec("svc-gc", "vox-svc-gc", ("--service", absent)),
        HelperSpec("svc-mon", "vox-mon", ("--for", f"vox-svc --service {short}")),
    ]
    for number, name in enumerate(names):
        parts = (("--service", name), ("--zone", rng.pick(("north", "south"))))
        helpers.append(HelperSpec(f"svc-{number}", "vox-svc", sum(rng.shuffled(parts), ())))
    for helper in rng.shuffled(helpers):
        builder.process(helper)
