"""A token among what looks like it, an endpoint that moved, and usage at and around 90 percent."""

import base64
import json

from fluency.world import When

SCOPES = (
    "builds",
    "cache",
    "embeddings",
    "exports",
    "jobs",
    "search",
    "sessions",
    "traces",
    "uploads",
)
JSON = {"Content-Type": "application/json"}


def extend(builder, rng):
    token, old, previous = (_token(rng, name) for name in ("token", "old", "previous"))
    lines = [
        "# access to the usage API",
        f"# VOX_API_TOKEN={old}",
        f"VOX_API_TOKEN_PREV={previous}",
        f"VOX_API_TOKEN={token}",
        f"VOX_API_TOKEN_TTL={rng.between(10, 90) * 60}",
    ]
    builder.file("ops/api.env", "\n".join(lines) + "\n")
    moved = f"/api/v{rng.between(2, 9)}/usage"
    page = f'<html><body>Moved to <a href="{moved}">{moved}</a>.</body></html>\n'.encode()
    builder.route("/api/usage", 308, {"Content-Type": "text/html", "Location": moved}, page)
    body = json.dumps({"limits": _limits(builder, rng)}).encode()
    builder.route(moved, 200, JSON, body, when=When(headers={"Authorization": f"Bearer {token}"}))
    refused = json.dumps({"error": "invalid token"}).encode()
    builder.route(moved, 401, JSON | {"WWW-Authenticate": "Bearer"}, refused)


def _token(rng, name):
    """16 bytes in base64, which therefore ends in ==."""
    return base64.b64encode(rng.split(name).bytes(16)).decode()


def _limits(builder, rng):
    """Seven scopes; what is left of those above the line adds up to an odd number in odd worlds, an
    even one in even."""
    edge = rng.pick([limit for limit in range(1_000, 9_000, 10) if _agrees(limit)])
    just = rng.between(20, 90) * 100 + rng.between(1, 99)
    above = rng.between(1_000, 9_000)
    full = rng.between(1_000, 9_000)
    rows = [
        (edge, edge * 9 // 10),
        (just, just * 905 // 1000),
        (full, full),
        (above, above * 97 // 100),
    ]
    left = sum(limit - used for limit, used in rows[1:])
    rows[3] = (above, rows[3][1] + (left % 2 != builder.odd))
    rows += [
        (limit, limit * rng.between(5, 84) // 100)
        for limit in (rng.between(1_000, 9_000) for _ in range(3))
    ]
    builder.require(90 < 100 * rows[1][1] / just < 91, "usage: a scope between 90 and 91 percent")
    builder.require(0.95 < rows[3][1] / above < 1, "usage: a scope above 95 percent")
    scopes = rng.sample(SCOPES, len(rows))
    limits = [
        {"scope": s, "limit": limit, "used": used}
        for s, (limit, used) in zip(scopes, rows, strict=True)
    ]
    last = limits.pop(
        rng.between(1, 3)
    )  # above the line, so that a loop that ends in a test ends with status 0
    return [*rng.shuffled(limits), last]


def _agrees(limit):
    """Whether every usual way to compare exactly 90 percent says that it is not above, also with
    doubles."""
    used = limit * 9 // 10
    above = (
        used / limit > 0.9,
        used > limit * 0.9,
        limit - used < limit * 0.1,
        used / limit * 100 > 90,
    )
    return not any(above) and used >= limit * 0.9
