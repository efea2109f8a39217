"""A session with two cookies; a POST that wants both and a token, and leads to a document that
wants both.

The new key's number is odd in odd worlds, even in even ones.
"""

import base64
import json

from fluency.world import When

JSON = {"Content-Type": "application/json"}
ROTATE = "/api/keys/rotate"


def extend(builder, rng):
    sid = rng.split("sid").bytes(12).hex()
    token = base64.b64encode(rng.split("csrf").bytes(16)).decode()  # 16 bytes: it ends in ==
    old, new = (
        f"key-{2 * rng.between(10**8, 10**9) + parity:x}"
        for parity in (not builder.odd, builder.odd)
    )
    document = f"/api/keys/issued/{rng.split('document').bytes(6).hex()}"
    # Names of headers have no case: the second spelling is a second header.
    cookies = {"Set-Cookie": f"sid={sid}; Path=/; HttpOnly", "set-cookie": f"csrf={token}; Path=/"}
    builder.route("/session", 200, JSON | cookies, b'{"state": "open"}\n')
    both = (f"sid={sid}; csrf={token}", f"csrf={token}; sid={sid}")
    replaced = json.dumps({"id": old, "state": "replaced"}).encode()
    issued = json.dumps({"id": new, "replaces": old, "state": "active"}).encode()
    for cookie in both:
        allowed = When(headers={"Cookie": cookie, "X-CSRF-Token": token})
        builder.route(
            ROTATE, 303, JSON | {"Location": document}, replaced, method="POST", when=allowed
        )
        builder.route(document, 200, JSON, issued, when=When(headers={"Cookie": cookie}))
    for cookie in both:
        without = When(headers={"Cookie": cookie})
        builder.route(
            ROTATE, 403, JSON, b'{"error": "X-CSRF-Token"}\n', method="POST", when=without
        )
    builder.route(ROTATE, 401, JSON, b'{"error": "no session"}\n', method="POST")
    builder.route(document, 401, JSON, b'{"error": "no session"}\n')
