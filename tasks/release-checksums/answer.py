"""Paths of dist/SHA256SUMS that are missing or have another SHA-256 than the list says."""

from hashlib import sha256


def expected(world, processes):
    wrong = []
    for line in world.lines("dist/SHA256SUMS"):
        digest, name = line[:64], line[66:]
        data = world.files.get(f"dist/{name}")
        if data is None or sha256(data).hexdigest() != digest.lower():
            wrong.append(name)
    return wrong
