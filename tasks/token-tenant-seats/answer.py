"""The used seats of the tenant that the served token's payload names."""

import base64
import json


def expected(world, processes):
    (granted,) = (route for route in world.routes_at("/auth/token", "POST") if route.status == 200)
    token = json.loads(granted.body)["access_token"]
    payload = token.split(".")[1]
    tenant = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["tenant"]
    for route in world.routes_at(f"/api/tenants/{tenant}/seats"):
        if route.status == 200 and route.when.headers == {"Authorization": f"Bearer {token}"}:
            return [str(sum(seat["used"] for seat in json.loads(route.body)["seats"]))]
