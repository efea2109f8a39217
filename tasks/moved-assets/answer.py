"""What became of the files of the manifest that are gone from their paths."""

import hashlib
import json


def expected(world, processes):
    there = {
        path.removeprefix("assets/pack/"): data for path, data in world.under("assets/pack").items()
    }
    listed = {
        one["path"]: one["sha256"].lower() for one in json.loads(there["manifest.json"])["files"]
    }
    new = {
        hashlib.sha256(data).hexdigest(): path for path, data in there.items() if path not in listed
    }
    gone = {path: digest for path, digest in listed.items() if path not in there}
    return [
        f"{path} -> {new[digest]}" if digest in new else f"GONE {path}"
        for path, digest in gone.items()
    ]
