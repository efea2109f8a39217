"""Builds in five pages that lead on by relative references; an odd number failed in odd worlds, an
even one in even ones."""

import json

from fluency.world import PORT, When

PATH = "/api/builds"
STATUSES = ("passed", "cancelled", "running")
PAGES = 5


def extend(builder, rng):
    # Seven times the first page's is never the sum, which is 9 to 22.
    failed = [rng.pick((1, 4)), *(rng.between(1, 4) for _ in range(PAGES - 2))]
    failed.append(5 + (sum(failed) + builder.odd + 1) % 2)
    cursors = [None, *(rng.split(f"cursor-{number}").bytes(5).hex() for number in range(1, PAGES))]
    forms = [*rng.shuffled(("query", "root", "path", "absolute")), "absolute"]
    for number in (*range(1, PAGES), None, 0):
        if number is None:
            unknown = When(query={"after": None})
            builder.route(
                PATH,
                400,
                {"Content-Type": "application/json"},
                b'{"error": "unknown"}',
                when=unknown,
            )
            continue
        headers = {
            "Content-Type": "application/json",
            "Link": _link(rng, cursors, number, forms[number]),
        }
        body = json.dumps(_builds(rng, failed[number])).encode()
        if number:
            builder.route(PATH, 200, headers, body, when=When(query={"after": cursors[number]}))
        else:
            builder.route(PATH, 200, headers, body)


def _builds(rng, failed):
    others = [rng.pick(STATUSES) for _ in range(rng.between(2, 4))]
    statuses = ["failed"] * failed + ["failed-soft", "Failed", *others]
    names = ("nightly", "release", "failed-retry", "smoke")
    return [
        {"id": f"{rng.pick(names)}-{rng.between(1000, 9999)}", "status": status}
        for status in rng.shuffled(statuses)
    ]


def _link(rng, cursors, number, form):
    places = {"first": 0, "last": PAGES - 1} | ({"prev": number - 1} if number else {})
    if number + 1 < PAGES:
        places["next"] = number + 1
    names = rng.shuffled(places)
    return ", ".join(f'<{_url(cursors[places[name]], form)}>; rel="{name}"' for name in names)


def _url(cursor, form):
    start = {
        "query": "",
        "root": PATH,
        "path": "builds",
        "absolute": f"http://127.0.0.1:{PORT}{PATH}",
    }[form]
    query = f"?per_page=9&after={cursor}" if cursor else "?per_page=9"
    return start + query
