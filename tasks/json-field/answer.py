"""The version that config/release.json states."""

import json


def expected(world, processes):
    release = json.loads(world.text("config/release.json"))
    return [release["version"]]
