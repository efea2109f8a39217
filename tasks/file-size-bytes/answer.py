"""The number of bytes of models/ranker.bin."""


def expected(world, processes):
    return [str(len(world.files["models/ranker.bin"]))]
