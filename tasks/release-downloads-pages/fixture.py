"""Releases in pages that lead to each other by Link; odd worlds have an odd total, even worlds an
even one."""

import json

from fluency.world import PORT, When

PATH = "/api/releases"
SIZE = 7


def extend(builder, rng):
    releases = _releases(builder, rng)
    pages = [releases[start : start + SIZE] for start in range(0, len(releases), SIZE)]
    cursors = [
        None,
        *(rng.split(f"cursor-{number}").bytes(8).hex() for number in range(1, len(pages))),
    ]
    turn = rng.below(3)

    def served(number):
        body = json.dumps(pages[number], separators=(",", ":")).encode()
        return {"Content-Type": "application/json", "Link": _link(cursors, number, turn)}, body

    for number in range(1, len(pages)):
        builder.route(PATH, 200, *served(number), when=When(query={"after": cursors[number]}))
    unknown = json.dumps({"error": "unknown cursor"}).encode()
    builder.route(
        PATH, 400, {"Content-Type": "application/json"}, unknown, when=When(query={"after": None})
    )
    builder.route(PATH, 200, *served(0))


def _releases(builder, rng):
    count = 29 if builder.odd else 22
    prereleases = {2, *rng.sample(range(3, count - 1), rng.between(2, 4))}
    without_assets = rng.pick(
        [number for number in range(1, count - 1) if number not in prereleases]
    )
    made = []
    for number in range(count):
        version = f"0.{count - number}.{rng.below(4)}"
        prerelease = number in prereleases
        assets = []
        if number != without_assets:
            for system in rng.sample(("linux", "darwin", "windows", "freebsd"), rng.between(1, 3)):
                downloads = rng.between(90_000, 260_000) if prerelease else rng.between(300, 98_000)
                assets.append({"name": f"vox-{version}-{system}.tar.zst", "downloads": downloads})
        made.append(
            {
                "tag": f"v{version}" + "-rc.1" * prerelease,
                "prerelease": prerelease,
                "assets": assets,
            }
        )
    total = sum(
        asset["downloads"] for one in made if not one["prerelease"] for asset in one["assets"]
    )
    made[0]["assets"][0]["downloads"] += total % 2 != builder.odd
    return made


def _link(cursors, number, turn):
    """The entries first, prev and next, as far as a page has them, in an order that changes from
    page to page."""
    places = {"first": 0} | ({"prev": number - 1} if number else {})
    if number + 1 < len(cursors):
        places["next"] = number + 1
    names = list(places)
    shift = (number + turn) % 3
    urls = dict.fromkeys(names, f"http://127.0.0.1:{PORT}{PATH}?per_page={SIZE}")
    for name, place in places.items():
        if cursors[place]:
            urls[name] += f"&after={cursors[place]}"
    return ", ".join(f'<{urls[name]}>; rel="{name}"' for name in names[shift:] + names[:shift])
