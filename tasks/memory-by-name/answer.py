"""The three names beginning with vox- whose processes hold the most resident memory together."""

from collections import Counter


def expected(world, processes):
    totals, counts = Counter(), Counter()
    for process in processes:
        if process.name.startswith("vox-"):
            totals[process.name] += process.rss_bytes
            counts[process.name] += 1
    return [f"{name} {counts[name]}" for name, _ in totals.most_common(3)]
