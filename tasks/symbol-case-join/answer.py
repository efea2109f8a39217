"""References by team, the served documents joined by the exact name."""

import json
from collections import Counter


def expected(world, processes):
    references, owners = (
        json.loads(world.route(f"/api/{name}").body) for name in ("refs", "owners")
    )
    sums = Counter()
    for symbol, count in references.items():
        sums[owners.get(symbol, "none")] += count
    return [f"{team} {total}" for team, total in sums.items()]
