"""Exports that are started and polled; odd worlds end with an odd number of rows, even worlds with
an even one."""

import json

from fluency.world import JOB, Job, When

PATH = "/api/exports"
JSON = {"Content-Type": "application/json"}
WANTED = json.dumps({"kind": "usage"})


def extend(builder, rng):
    rows = 2 * rng.between(10_000, 49_000) + builder.odd
    day = f"2026-{rng.between(1, 12):02}-{rng.between(1, 28):02}"
    finished = f"{day}T{rng.below(24):02}:{rng.below(60):02}:{rng.below(60):02}Z"
    states = [("queued", 0, None)]
    running = rng.between(2, 3)
    states += [("running", rows * (number + 1) // (running + 2), None) for number in range(running)]
    states += [("done", rows, finished)]
    steps = [
        json.dumps({"id": JOB, "state": state, "rows": known, "finished_at": time})
        for state, known, time in states
    ]
    job = Job(f"{PATH}/", f"exp-{rng.bytes(4).hex()}", tuple(steps))
    started = json.dumps({"id": JOB, "state": "queued"}).encode()
    asked = When(headers={"Content-Type": "application/json"}, json=WANTED)
    builder.route(PATH, 202, JSON, started, method="POST", when=asked, job=job)
    refused = json.dumps({"error": f"send {WANTED} as application/json"}).encode()
    builder.route(PATH, 400, JSON, refused, method="POST")
