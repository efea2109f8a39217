"""Fourteen symbols, four pairs alike but for case; all references are odd in odd worlds and even in
even ones."""

import json

WORDS = (
    "apply",
    "batch",
    "codec",
    "drain",
    "entry",
    "frame",
    "graph",
    "index",
    "level",
    "merge",
    "parse",
    "queue",
)
TEAMS = ("billing", "core", "infra", "mesh", "search", "web")


def extend(builder, rng):
    words = rng.sample(WORDS, 11)
    pairs = [(word, rng.pick((word.capitalize(), word.upper()))) for word in words[:4]]
    singles = [f"{words[4]} {words[5]}", *(f"{word}_all" for word in words[6:])]
    teams = rng.sample(TEAMS, 4)
    owners = {}
    for number, (lower, upper) in enumerate(pairs):
        # Of the last pair both belong to one team; of the one before it one to none.
        owners[lower] = teams[number % 4]
        if number != 2:
            owners[upper] = teams[(number + (number != 3)) % 4]
    for number, name in enumerate(singles[:-1]):
        owners[name] = teams[number % 4]
    names = [*(name for pair in pairs for name in pair), *singles]
    counts = rng.sample(range(3, 900), len(names))
    counts[0] += sum(counts) % 2 != builder.odd
    owners[f"unused_{words[10]}"] = teams[0]
    references = dict(zip(names, counts, strict=True))
    for path, made in (("refs", references), ("owners", owners)):
        body = json.dumps(
            dict(rng.shuffled(list(made.items()))), indent=rng.pick((None, 1))
        ).encode()
        builder.route(f"/api/{path}", 200, {"Content-Type": "application/json"}, body)
