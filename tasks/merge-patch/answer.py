"""The configuration after the merge patch, by the pseudocode of RFC 7396, section 2."""

import json


def expected(world, processes):
    return _patched(
        json.loads(world.text("config/service.json")),
        json.loads(world.text("config/override.json")),
    )


def _patched(target, patch):
    if not isinstance(patch, dict):
        return patch
    made = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = _patched(made.get(name), value)
    return made
