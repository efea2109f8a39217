"""Paths of the leaves that differ between the two configuration files, compared as JSON text."""

import json


def leaves(value, path=()):
    if not isinstance(value, dict):
        return {".".join(path): json.dumps(value)}
    return {
        name: text
        for key, inner in value.items()
        for name, text in leaves(inner, (*path, key)).items()
    }


def expected(world, processes):
    old, new = (
        leaves(json.loads(world.text(f"config/{name}.json"))) for name in ("defaults", "production")
    )
    return sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
