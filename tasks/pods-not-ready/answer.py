"""Running pods with a container that is not ready."""

import json


def expected(world, processes):
    return [
        f"{pod['metadata']['namespace']} {pod['metadata']['name']}"
        for pod in json.loads(world.text("ops/pods.json"))["items"]
        if pod["status"]["phase"] == "Running"
        and not all(one["ready"] for one in pod["status"]["containerStatuses"])
    ]
