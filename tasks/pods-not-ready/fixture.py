"""Pods; an odd number of the running ones is not ready in odd worlds, an even one in even ones."""

import json


def extend(builder, rng):
    numbers = iter(rng.sample(range(100, 999), 40))

    def pod(phase, ready, init=True, name=None, space=None):
        statuses = [
            {"name": f"c{at}", "ready": one, "restartCount": rng.below(5)}
            for at, one in enumerate(ready)
        ]
        status = {"phase": phase, "conditions": [{"type": "Ready", "status": "False"}]}
        if statuses:
            status["containerStatuses"] = statuses
            status["initContainerStatuses"] = [{"name": "init", "ready": init}]
        meta = {
            "name": name or f"{rng.pick(('api', 'mail', 'web'))}-{next(numbers)}",
            "namespace": space or rng.pick(("shop", "core")),
        }
        return {"kind": "Pod", "metadata": meta, "status": status}

    some = [[True, False], [False, True], [True, False, False], [False], [False, False]]
    pods = [pod("Running", ready) for ready in (some if builder.odd else some[:4])]
    pods += [pod("Running", [True] * rng.between(1, 3), init=rng.chance(50)) for _ in range(5)]
    pods += [pod("Running", [True], init=False)]
    pods += [pod(phase, [False]) for phase in ("Pending", "Succeeded", "Failed")]
    pods += [pod("Pending", []), pod("Succeeded", [False, False])]
    twin = pods[0]["metadata"]
    space = "core" if twin["namespace"] == "shop" else "shop"
    pods.append(pod("Running", [True, True], name=twin["name"], space=space))
    text = json.dumps({"apiVersion": "v1", "items": rng.shuffled(pods), "kind": "List"}, indent=1)
    builder.file("ops/pods.json", text + "\n")
