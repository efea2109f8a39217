"""The sum of amounts over the entries of all pages, each id once."""

import json


def expected(world, processes):
    amounts = {}
    pages = {
        route.when.query.get("cursor"): route
        for route in world.routes_at("/api/ledger")
        if route.status == 200
    }
    cursor, more = None, True
    while more:
        page = json.loads(pages[cursor].body)
        amounts |= {entry["id"]: entry["amount"] for entry in page["entries"]}
        cursor = page["next"]
        more = cursor is not None
    return [str(sum(amounts.values()))]
