"""The version in the service's answer to /release."""

import json


def expected(world, processes):
    release = json.loads(world.route("/release").body)
    return [release["version"]]
