"""Lines of level ERROR for each hour of the day that has one."""

from collections import Counter


def expected(world, processes):
    fields = [line.split(" ", 2) for line in world.lines("logs/orchestrator.log")]
    hours = Counter(stamp.split("T")[1][:2] for stamp, level, _ in fields if level == "ERROR")
    return [f"{hour} {count}" for hour, count in sorted(hours.items())]
