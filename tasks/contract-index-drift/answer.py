"""Schema files that the index does not list (+), and listed paths without a file (-)."""

import json

ROOT = "contracts/registry/"


def expected(world, processes):
    files = {
        path.removeprefix(ROOT)
        for path in world.under("contracts/registry")
        if path.endswith(".schema.json")
    }
    listed = {entry["path"] for entry in json.loads(world.text(f"{ROOT}index.json"))["schemas"]}
    return [
        *(f"+ {path}" for path in sorted(files - listed)),
        *(f"- {path}" for path in sorted(listed - files)),
    ]
