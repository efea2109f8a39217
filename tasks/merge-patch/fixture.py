"""A configuration and a merge patch with every step of RFC 7396; replicas are odd in odd worlds,
even in even ones."""

import json

HOSTS = ("mesh", "queue", "edge", "store", "relay")
WORDS = ("amber", "blue", "coral", "dusk", "ember", "fern", "gold", "haze")


def extend(builder, rng):
    number = rng.between(10, 99)
    words = iter(rng.shuffled(WORDS))
    hosts = [f"{name}-{rng.between(1, 9)}.invalid" for name in rng.shuffled(HOSTS)]
    gone, cleared, dropped, unset, erased = (
        f"{word}_{rng.between(1, 99)}" for word in rng.sample(WORDS, 5)
    )
    service = {
        "name": f"vox-{next(words)}",
        "replicas": rng.between(1, 9),
        "region": None,
        gone: {"enabled": True, "until": "never"},
        "labels": {"team": next(words), "tier": str(rng.between(1, 3)), cleared: "x"},
        "listen": {
            "host": "127.0.0.1",
            "ports": [7000 + number, 7100 + number, 7200 + number],
            "tls": {
                "mode": "strict",
                dropped: number,
                "ciphers": [next(words), next(words)],
                "client": {
                    "verify": True,
                    unset: {"depth": number},
                    "roots": {"path": f"/etc/vox/{number}.pem", erased: "sha256", "rotate": None},
                },
            },
        },
        "limits": {"cpu": number, "memory": {"soft": 256, "hard": 512}},
        "logging": "plain",
        "features": ["replay", "drain", "shadow"],
        "hooks": ["before", "after"],
        "upstreams": [{"host": host, "weight": rng.between(1, 9)} for host in hosts[:3]],
    }
    override = {
        "replicas": 2 * rng.between(5, 40) + builder.odd,
        gone: None,
        "labels": {cleared: None, "zone": next(words)},
        "listen": {
            "ports": [8000 + number],
            "tls": {
                dropped: None,
                "ciphers": [],
                "client": {
                    unset: None,
                    "verify": False,
                    "roots": {erased: None, "path": f"/srv/{next(words)}.pem"},
                },
            },
        },
        "limits": "small",
        "logging": {"level": "info", "file": None, "sinks": {"main": hosts[3], "spare": None}},
        "tracing": {"rate": number + 1, "token": None, "export": {"kind": "otlp", "proxy": None}},
        "upstreams": [{"host": hosts[4], "weight": None, "zones": ["a"]}],
        "hooks": [f"drain-{number}"],
        "features": rng.sample(service["features"], 2),
    }
    builder.file("config/service.json", json.dumps(_shuffled(rng, service), indent=2) + "\n")
    builder.file("config/override.json", json.dumps(_shuffled(rng, override), indent=2) + "\n")


def _shuffled(rng, value):
    if not isinstance(value, dict):
        return value
    return {name: _shuffled(rng, value[name]) for name in rng.shuffled(value)}
