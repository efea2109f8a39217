"""Hashes of three files with the version raised in one place each."""

import hashlib

PLACES = {"VERSION": "{}", "package.json": '\n  "version": "{}"', "snap.yaml": "\nversion: {} "}


def expected(world, processes):
    old = world.text("desktop/VERSION")
    major, minor, patch = old.split(".")
    new = f"{major}.{minor}.{int(patch) + 1}"
    lines = []
    for name, place in PLACES.items():
        before, after = world.text(f"desktop/{name}").split(place.format(old))
        digest = hashlib.sha256((before + place.format(new) + after).encode()).hexdigest()
        lines.append(f"{digest} desktop/{name}")
    return lines
