"""Settings of services: with the key, without it, and with the key in other places."""

import json


def extend(builder, rng):
    def number():
        return rng.between(100, 900)

    def settings(http):
        made = {"name": f"svc-{number()}", "timeout_ms": number()}
        made |= {} if http is None else {"http": http}
        made["grpc"] = {"timeout_ms": number(), "pool": {"limits": {"idle": [number(), number()]}}}
        return json.dumps(made, indent=2) + "\n"

    def usual(value):
        deep = {"limits": {"per_host": {"burst": number()}}}
        return {"port": number(), "timeout_ms": value, "retry": deep}

    https = [usual(number()), usual(number()), usual(0), usual(None), {"port": number()}, None]
    https.append({"port": number(), "client": {"timeout_ms": number()}})
    places = ("api", "mail", "queue", "store", "edge/relay", "edge/dns", "edge/dns/cache")
    for place, http in zip(places, rng.shuffled(https), strict=True):
        builder.file(f"services/{place}/settings.json", settings(http))
    deepest = {"http": usual(number()), "note": "nested"}
    builder.file("services/edge/zone/new/settings.json", json.dumps(deepest) + "\n")
    for name in ("settings.json.bak", "settings.local.json"):
        builder.file(f"services/api/{name}", settings(usual(number())))
