"""The SHA-256 of models/ranker.bin."""

from hashlib import sha256


def expected(world, processes):
    return [sha256(world.files["models/ranker.bin"]).hexdigest()]
