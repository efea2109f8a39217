"""A registry of schemas and an index that lists most of them, some twice, some wrongly.

The last of the index, also of the sorted one, is missing, so that a loop that ends in a test ends
with status 0.
"""

import json

SURE = (
    "events/audit/entry",
    "events/audit",
    "eval/run",
    "eval/gate-run",
    "mcp/vox-tool",
    "mesh/lease",
    "run",
    "tool",
)
OTHERS = (
    "cli/args",
    "cli/exit",
    "db/migration",
    "db/pool",
    "eval/gate",
    "mcp/resource",
    "mcp/tool",
    "mesh/peer",
    "mesh/relay/hop",
    "secrets/lease",
    "telemetry/metric",
    "telemetry/span",
)
FOLDERS = ("cli/v2", "mcp", "mesh", "db")


def extend(builder, rng):
    for name in (*SURE, *OTHERS):
        builder.file(f"contracts/registry/{name}.schema.json", json.dumps({"title": name}) + "\n")
    for name in ("eval/schema.json", "mcp/tool.example.json"):
        builder.file(f"contracts/registry/{name}", "{}\n")
    dropped = rng.between(2, 4)
    # Together odd in odd worlds, so that the number of lines is.
    gone = 2 + (dropped + builder.odd) % 2
    others = rng.shuffled(OTHERS)
    # The two whose paths end listed ones are never listed themselves.
    listed = [
        *(name for name in SURE if name not in ("run", "tool", "events/audit/entry")),
        *others[dropped:],
    ]
    numbers = rng.shuffled(range(1, 10))
    last, *missing = [f"{rng.pick(FOLDERS)}/legacy-{numbers[place]}" for place in range(gone)]
    last = f"web/{last}"
    listed += [*missing, last, "events/audit/Entry", "mesh/lease"]
    retired = [others[0], f"mesh/gone-{numbers[-1]}"]
    index = {
        "version": rng.between(1, 9),
        "retired": [_entry(rng, name) for name in retired],
        "schemas": [_entry(rng, name) for name in (*rng.shuffled(listed), last)],
    }
    text = (
        json.dumps(index, indent=2) if rng.chance(50) else json.dumps(index, separators=(",", ":"))
    )
    builder.file("contracts/registry/index.json", f"{text}\n")


def _entry(rng, name):
    return {"path": f"{name}.schema.json", "since": f"0.{rng.below(10)}"}
