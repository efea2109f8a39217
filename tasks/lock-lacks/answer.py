"""Packages that package.json names and the lock has nowhere at the top."""

import json


def expected(world, processes):
    named = json.loads(world.text("web/package.json"))
    installed = json.loads(world.text("web/package-lock.json"))["packages"]
    names = (*named["dependencies"], *named["devDependencies"])
    return [name for name in names if f"node_modules/{name}" not in installed]
