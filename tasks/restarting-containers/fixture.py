"""Containers: an odd number restarts after a failure in odd worlds, an even one in even worlds."""

import json

IMAGES = ("registry.local/shop-api:2.4", "redis:7-alpine", "postgres:16", "registry.local/mail:0.9")


def extend(builder, rng):
    numbers = iter(rng.sample(range(1, 100), 30))

    def row(state, status, name=None, labels="", command="./run"):
        name = name or f"{rng.pick(('shop', 'mail', 'core'))}-{next(numbers)}"
        return {
            "Command": f'"{command}"',
            "ID": f"{rng.below(16**12):012x}",
            "Image": rng.pick(IMAGES),
            "Labels": labels,
            "Names": name,
            "State": state,
            "Status": status,
        }

    def ago(word, code):
        return f"{word} ({code}) {rng.between(2, 59)} seconds ago"

    codes = [10, 137, *([1] if builder.odd else rng.pick(([], [1, 2])))]
    rows = [row("restarting", ago("Restarting", code)) for code in codes]
    rows += [row("restarting", ago("Restarting", 0)) for _ in range(rng.between(1, 2))]
    rows += [row("running", f"Up {rng.between(2, 23)} hours") for _ in range(5)]
    rows += [row("exited", ago("Exited", code)) for code in (0, 1, 137)]
    rows += [
        row("running", "Up 3 days", name="restarting-proxy"),
        row("running", "Up 2 days (unhealthy)", labels="policy=restarting"),
        row("exited", ago("Exited", 2), command="./restarting"),
    ]
    text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in rng.shuffled(rows))
    builder.file("ops/containers.jsonl", text)
