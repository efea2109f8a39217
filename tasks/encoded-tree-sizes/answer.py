"""The size of each file of the index, as it is served at its encoded path."""

import json
from urllib.parse import quote


def expected(world, processes):
    paths = json.loads(world.route("/files/index.json").body)["files"]
    return [f"{len(world.route('/files/' + quote(path)).body)} {path}" for path in paths]
