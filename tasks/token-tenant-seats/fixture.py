"""A token with a tenant in its payload and two look-alikes; odd worlds have an odd sum, even worlds
an even one."""

import base64
import json

from fluency.world import When

JSON = {"Content-Type": "application/json"}
ASKED = '{"client": "reports"}'
MARKS = "?>~<|x"


def extend(builder, rng):
    tenants = [
        f"{rng.pick(('acme', 'globex', 'hooli', 'initech'))}-{number}"
        for number in rng.sample(range(10, 99), 3)
    ]
    mine, of_header, nested = tenants
    header = {"alg": "HS256", "typ": "JWT", "tenant": of_header}
    payload = ""
    # One sign of padding is missing in odd worlds, two in even ones; both letters that base64 lacks
    # are there.
    while not ({"-", "_"} <= set(payload) and -len(payload) % 4 == (1 if builder.odd else 2)):
        scope = "seats:" + "".join(rng.pick(MARKS) for _ in range(rng.between(6, 12)))
        claims = [
            ("sub", "reports"),
            ("scope", scope),
            ("realm", {"tenant": nested, "zone": "eu"}),
            ("tenant", mine),
        ]
        payload = _encoded(dict(rng.shuffled(claims)))
    signature = base64.urlsafe_b64encode(rng.bytes(32)).decode().rstrip("=")
    token = f"{_encoded(header)}.{payload}.{signature}"
    granted = json.dumps(
        {"token_type": "Bearer", "access_token": token, "expires_in": 600}
    ).encode()
    right = When(headers={"Content-Type": "application/json"}, json=ASKED)
    builder.route("/auth/token", 200, JSON, granted, method="POST", when=right)
    builder.route("/auth/token", 400, JSON, b'{"error": "invalid_request"}', method="POST")
    for tenant in tenants:
        seats = [
            {"user": f"u{number}", "used": rng.between(2, 80)}
            for number in range(rng.between(4, 7))
        ]
        if tenant == mine:
            seats[0]["used"] += sum(seat["used"] for seat in seats) % 2 != builder.odd
        body = json.dumps({"tenant": tenant, "seats": seats}).encode()
        path, bearer = f"/api/tenants/{tenant}/seats", f"Bearer {token}" if tenant == mine else None
        builder.route(path, 200, JSON, body, when=When(headers={"Authorization": bearer}))
        builder.route(path, 401, JSON, b'{"error": "invalid_token"}')


def _encoded(value):
    return (
        base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode())
        .decode()
        .rstrip("=")
    )
