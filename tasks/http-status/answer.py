"""The status that /queue is answered with."""


def expected(world, processes):
    return [str(world.route("/queue").status)]
