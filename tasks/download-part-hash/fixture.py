"""A binary file in eleven to thirteen parts, of several types and some behind redirects."""

import json

TYPES = ("application/octet-stream", "text/plain", "image/png", None)
REDIRECTED = (3, 8)


def extend(builder, rng):
    count = 12 if builder.odd else rng.pick((11, 13))
    parts = [
        {"index": number, "path": f"/dist/blob/{_hex(rng, f'path-{number}')}"}
        for number in range(1, count + 1)
    ]
    for number, part in enumerate(parts):
        data = (
            rng.split(f"part-{number}").bytes(rng.between(700, 4000))
            + b"\0\xff\r\n"[: 1 + number % 4]
        )
        kind = TYPES[number % len(TYPES)]
        path = part["path"]
        if number in REDIRECTED:
            path = f"/store/{_hex(rng, f'store-{number}')}"
            page = f'<html><body>Moved <a href="{path}">here</a>.</body></html>\n'.encode()
            builder.route(
                part["path"],
                rng.pick((302, 307)),
                {"Content-Type": "text/html", "Location": path},
                page,
            )
        builder.route(path, 200, {"Content-Type": kind} if kind else {}, data)
    drawn = rng.shuffled(parts)
    while drawn in (parts, parts[::-1]):
        drawn = rng.shuffled(parts)
    by_path = sorted(parts, key=lambda part: part["path"])
    builder.require(by_path != parts, "the paths sort otherwise than the parts")
    body = json.dumps({"parts": drawn}).encode()
    builder.route("/dist/image.json", 200, {"Content-Type": "application/json"}, body)


def _hex(rng, name):
    return rng.split(name).bytes(6).hex()
