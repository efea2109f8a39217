"""Ten documents, five of which changed; what changed in odd worlds never does in even ones, and the
reverse.

The last one changed, so that a loop that ends in a test ends with status 0.
"""

import json

NAMES = (
    "agents",
    "catalog",
    "eval-report",
    "identity",
    "mcp-tools",
    "mesh-rpc",
    "openapi",
    "oratio",
    "orchestrator",
    "populi",
    "secrets-schema",
    "telemetry",
)
SPELLINGS = ("ETag", "etag", "Etag")


def extend(builder, rng):
    changed = rng.sample(NAMES[builder.odd :: 2], 5)
    same = rng.sample([name for name in NAMES if name not in changed], 5)
    documents = []
    for number, (name, (recorded, served)) in enumerate(
        zip(changed + same, _tags(rng), strict=True)
    ):
        path = f"/contracts/{name}.v{rng.between(1, 3)}.json"
        # The header of another origin tells the opposite of the truth: it is skipped or the answer
        # is wrong.
        origin = recorded if recorded != served else f'"{rng.split(path).bytes(6).hex()}"'
        headers = {
            "Content-Type": "application/json",
            "X-Origin-ETag": origin,
            SPELLINGS[number % 3]: served,
        }
        builder.route(
            path, 200, headers, json.dumps({"title": name, "revision": rng.below(90)}).encode()
        )
        documents.append({"path": path, "etag": recorded})
    last = documents.pop(rng.below(5))
    document = {
        "synced_by": rng.pick(("nightly", "mirror-bot")),
        "documents": [*rng.shuffled(documents), last],
    }
    builder.file("ops/mirror.json", json.dumps(document, indent=2) + "\n")


def _tags(rng):
    """Recorded and served: another tag, case, no longer weak, a suffix, no quotation marks; five
    that did not change."""
    hexes = [
        f"{rng.pick('abcdef')}{rng.split(f'tag-{number}').bytes(6).hex()}" for number in range(11)
    ]
    yield f'"{hexes[0]}"', f'"{hexes[9]}"'
    yield f'"{hexes[1]}"', f'"{hexes[1].upper()}"'
    yield f'W/"{hexes[2]}"', f'"{hexes[2]}"'
    yield f'"{hexes[3]}"', f'"{hexes[3]}-gzip"'
    yield hexes[10], f'"{hexes[10]}"'
    for number, prefix in zip(range(4, 9), ("", "W/", "", "W/", ""), strict=True):
        yield f'{prefix}"{hexes[number]}"', f'{prefix}"{hexes[number]}"'
