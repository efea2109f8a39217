"""The revision that the service gives for the patched document, sent with the document's tag."""

import json

PATH = "/api/lanes/mesh"


def expected(world, processes):
    document = world.route(PATH)
    patched = _patched(json.loads(document.body), json.loads(world.text("ops/lanes.patch.json")))
    for put in world.routes_at(PATH, "PUT"):
        if (
            put.when.headers.get("If-Match") == document.headers["ETag"]
            and json.loads(put.when.json) == patched
        ):
            return [str(json.loads(put.body)["revision"])]
    raise LookupError("the patched document is refused")


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
