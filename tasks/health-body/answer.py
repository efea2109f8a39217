"""What the service answers to /health."""


def expected(world, processes):
    return world.route("/health").body.decode().splitlines()
