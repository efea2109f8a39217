"""A document that is changed by a merge patch under If-Match; the revision is odd in odd worlds,
even in even ones."""

import copy
import json

from fluency.world import When

PATH = "/api/lanes/mesh"
JSON = {"Content-Type": "application/json"}
WORDS = "amber birch cedar dune elm fjord grove heath isle juniper"


def extend(builder, rng):
    words = iter(rng.shuffled(WORDS.split()))
    number = rng.between(11, 99)
    gone, emptied, renamed = next(words), next(words), next(words)
    document = {
        "name": "mesh",
        "owner": None,
        gone: f"lane-{number}",
        "limits": {
            "burst": number,
            "window": {
                "unit": "s",
                "rules": {
                    "default": {
                        "allow": [next(words), next(words), next(words)],
                        "retry": {"most": 3, "wait": "short"},
                    },
                    emptied: {"allow": ["none"], "retry": {"most": 1}},
                },
            },
        },
        "targets": [{"zone": next(words), "weight": 1}, {"zone": next(words), "weight": 2}],
        "depth": number + 1,
    }
    zone = f"{next(words)}-{number}"
    patch = {
        gone: None,
        "limits": {"window": {"rules": {"default": {"retry": {"wait": "long"}}, emptied: None}}},
        "targets": [{"zone": zone, "weight": number}],
        "depth": {"soft": number, "hard": {"most": number + 7, "unit": "jobs"}},
        "notes": {renamed: "kept"},
    }
    patched = copy.deepcopy(document)
    del patched[gone], patched["limits"]["window"]["rules"][emptied]
    patched["limits"]["window"]["rules"]["default"]["retry"]["wait"] = "long"
    patched |= {name: patch[name] for name in ("targets", "depth", "notes")}
    builder.file("ops/lanes.patch.json", json.dumps(patch, indent=2) + "\n")
    tag = f'"{rng.split("tag").bytes(6).hex()}"'
    builder.route(PATH, 200, JSON | {"ETag": tag}, json.dumps(document).encode())
    revision = json.dumps({"revision": 2 * rng.between(100, 4000) + builder.odd}).encode()
    typed = {"Content-Type": "application/json"}
    known = typed | {"If-Match": tag}

    def put(status, body, **when):
        builder.route(PATH, status, JSON, body, method="PUT", **when)

    put(200, revision, when=When(headers=known, json=json.dumps(patched)))
    put(422, b'{"error": "this is not the patched document"}', when=When(headers=known))
    put(412, b'{"error": "another version"}', when=When(headers=typed | {"If-Match": None}))
    put(428, b'{"error": "If-Match is missing"}', when=When(headers=typed))
    put(415, b'{"error": "send application/json"}')
