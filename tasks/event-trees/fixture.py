"""Trees of events whose ids differ in their last digits only: five trees in odd worlds, six in even
ones."""

import json

KINDS = ("start", "retry", "fork", "join", "spill", "resume")
DEEPEST = 5


def extend(builder, rng):
    first = 7_194_216_303_912_000_000 + 1000 * rng.between(100, 990_000)
    ids = iter(first + number for number in rng.sample(range(800), 60))
    events = []
    sizes = [1, rng.between(7, 14), *(rng.between(2, 14) for _ in range(3 if builder.odd else 4))]
    for size in sizes:
        depths = {next(ids): 1}
        parents = dict.fromkeys(depths)
        while len(parents) < size:
            shallow = [one for one, depth in depths.items() if depth < DEEPEST]
            # The second tree begins with a chain of all levels.
            parent = (
                list(depths)[-1]
                if size == sizes[1] and len(depths) < DEEPEST
                else rng.pick(shallow)
            )
            child = next(ids)
            parents[child], depths[child] = parent, depths[parent] + 1
        events += parents.items()
    lines = []
    for one, parent in rng.shuffled(events):
        fields = {"id": one, "parent": parent, "kind": rng.pick(KINDS)}
        event = {name: fields[name] for name in rng.shuffled(fields)}
        lines.append(json.dumps(event, separators=rng.pick(((",", ":"), (", ", ": ")))))
    builder.file("logs/events.jsonl", "\n".join(lines) + "\n")
