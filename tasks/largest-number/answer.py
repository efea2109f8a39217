"""The largest number of data/latencies.txt."""


def expected(world, processes):
    numbers = [int(line) for line in world.lines("data/latencies.txt")]
    return [str(max(numbers))]
