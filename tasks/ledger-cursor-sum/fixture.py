"""A ledger in five pages (four in even worlds) that overlap, with ids that doubles cannot tell
apart.

The sum is odd in odd worlds, even in even ones.
"""

import base64
import json
from itertools import pairwise

from fluency.world import When

PATH = "/api/ledger"
JSON = {"Content-Type": "application/json"}


def extend(builder, rng):
    pages = _pages(builder, rng)
    cursors = [None, *(_cursor(rng, number) for number in range(1, len(pages)))]

    def served(number):
        following = cursors[number + 1] if number + 1 < len(pages) else None
        return json.dumps({"entries": pages[number], "next": following}).encode()

    for number in range(1, len(pages)):
        builder.route(PATH, 200, JSON, served(number), when=When(query={"cursor": cursors[number]}))
    builder.route(
        PATH, 400, JSON, b'{"error": "unknown cursor"}', when=When(query={"cursor": None})
    )
    builder.route(PATH, 200, JSON, served(0))


def _pages(builder, rng):
    first = 10 * rng.between(3 * 10**16, 8 * 10**16)
    entries = [
        {"id": first + 1000 * number + 1, "amount": rng.between(100, 9000)} for number in range(24)
    ]
    # Pairs whose ids are one double, with one amount.
    twins = []
    for entry in rng.sample(entries[2:-2], 3):
        twin = next(
            n
            for n in range(entry["id"] // 10 * 10, entry["id"] + 9)
            if n != entry["id"] and float(n) == float(entry["id"])
        )
        twins.append({"id": twin, "amount": entry["amount"]})
    entries[0]["amount"] += (sum(entry["amount"] for entry in (*entries, *twins)) - builder.odd) % 2
    drawn = rng.shuffled([*entries, *twins])
    count = 5 if builder.odd else 4
    pages = [drawn[number::count] for number in range(count)]
    for before, page in pairwise(pages):
        page.insert(0, before[-1])
    pages[-1].insert(2, pages[0][-1])  # which the second page begins with too
    return pages


def _cursor(rng, number):
    """Base64 that means something else where it is not encoded in a query."""
    for attempt in range(10_000):
        text = base64.b64encode(rng.split(f"cursor-{number}-{attempt}").bytes(10)).decode()
        if "+" in text and "/" in text:
            return text
    raise LookupError("no such cursor")
