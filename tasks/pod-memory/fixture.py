"""24 pods with every way to write a quantity; all requested bytes are odd in odd worlds and even in
even ones."""

import json

NAMESPACES = ("billing", "build", "edge", "mesh-core", "ops", "search", "vox-system", "web")
PHASES = ("Running",) * 4 + ("Pending", "Succeeded")


def extend(builder, rng):
    # The last namespace requests no memory.
    names = rng.sample(NAMESPACES, 5)
    plain = 2 * rng.between(40_000_000, 90_000_000) + builder.odd
    forms = [
        f"{rng.between(100, 900)}Mi",
        f"{rng.between(1, 3)}.{rng.pick((25, 5, 75))}Gi",
        f"{rng.between(100, 900)}M",
        f"{rng.between(2, 9) * 100}k",
        f"{rng.between(20, 90)}e6",
        f"{rng.between(1, 3)}e9",
        f"{rng.between(200, 900) * 64}Ki",
        f"{rng.between(1, 2)}G",
        f"{rng.between(1, 7)}.5M",
        f"0.{rng.pick((25, 5, 75))}Gi",
        str(plain),
    ]
    pods = []

    def pod(namespace, phase, requests, init=None):
        name = f"{rng.pick(('api', 'cron', 'index', 'relay', 'sync'))}-{rng.below(1 << 20):05x}"
        containers = [_container(f"c{place}", one) for place, one in enumerate(requests)]
        spec = {"containers": containers}
        if init:
            spec["initContainers"] = [_container("setup", {"requests": {"memory": init}})]
        meta = {"name": name, "namespace": namespace, "labels": {"phase": rng.pick(PHASES)}}
        pods.append(
            {
                "kind": "Pod",
                "metadata": meta,
                "spec": dict(rng.shuffled(list(spec.items()))),
                "status": {"phase": phase},
            }
        )

    def memory(quantity):
        given = {
            "requests": dict(
                rng.shuffled([("memory", quantity), ("cpu", f"{rng.between(1, 9) * 100}m")])
            )
        }
        if rng.chance(60):
            given["limits"] = {"memory": f"{rng.between(8, 16)}Gi"}
        return given

    without = [{}, None, {"requests": {"cpu": "250m"}}, {"limits": {"memory": "512Mi", "cpu": "1"}}]
    for place, form in enumerate(rng.shuffled(forms)):  # 11 running pods
        others = [memory(rng.pick(forms[:-1])), rng.pick(without)][: rng.below(3)]
        pod(
            names[place % 4],
            "Running",
            rng.shuffled([memory(form), *others]),
            "96Mi" if place % 4 == 1 else None,
        )
    for bare in without:  # 4 more
        pod(rng.pick(names[:4]), "Running", [bare])
    pod(names[4], "Running", [without[2], without[3]], "64Mi")
    pod(names[4], "Pending", [memory("1Gi")])
    while len(pods) < 24:
        pod(
            rng.pick(names[:4]),
            rng.pick(("Pending", "Succeeded")),
            [memory(rng.pick(forms)), memory("48Mi")],
            "32Mi",
        )
    document = {"apiVersion": "v1", "kind": "List", "items": rng.shuffled(pods)}
    builder.file("data/pods.json", json.dumps(document, indent=rng.pick((2, 4))) + "\n")


def _container(name, resources):
    made = {"name": name, "image": f"registry.example.net/{name}:1"}
    return made if resources is None else made | {"resources": resources}
