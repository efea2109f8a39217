"""Each search term with the total that is served for exactly that term."""

import json


def expected(world, processes):
    totals = {
        route.when.query.get("q"): json.loads(route.body)["total"]
        for route in world.routes_at("/api/search")
    }
    return [f"{totals[term]} {term}" for term in world.lines("ops/search-terms.txt")]
