"""SHA-256 of the bytes behind the redirect."""

import hashlib


def expected(world, processes):
    redirect = world.route("/dl/vox-latest.bin")
    return [hashlib.sha256(world.route(redirect.headers["Location"]).body).hexdigest()]
