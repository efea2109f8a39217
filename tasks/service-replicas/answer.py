"""The services of config/services.json that run in another number than they should."""

import json
from collections import Counter


def expected(world, processes):
    running = Counter(_service(process.args) for process in processes if process.name == "vox-svc")
    services = [(s["name"], s["replicas"]) for s in json.loads(world.text("config/services.json"))]
    return [
        f"{name} {running[name]} {replicas}"
        for name, replicas in services
        if running[name] != replicas
    ]


def _service(args):
    return args[args.index("--service") + 1]
