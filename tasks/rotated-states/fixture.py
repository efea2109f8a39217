"""A rotated log of states; an odd number of workers is not idle in odd worlds, an even number in
even ones."""

from fluency.world import gzipped

STATES = ("idle", "busy", "draining", "stuck", "syncing", "paused")


def extend(builder, rng):
    parts = rng.between(12, 14)
    lines = [[] for _ in range(parts)]  # by the number of the part, the newest first
    ends = [0, 1, 2, 9, 10, parts - 1]
    names = [f"w-{number:x}" for number in rng.sample(range(1, 400), 18)]
    rest = 5 + builder.odd + 2 * rng.below(2)
    for place, name in enumerate(names):
        # Of each part where a worker ends one is busy in some way; of the others some are idle at
        # last.
        busy = place < 6 or place - 6 < rest
        last = ends[place % 6] if place < 12 else rng.between(3, parts - 2)
        state = rng.pick(STATES[1:]) if busy else "idle"
        other = [one for one in STATES if one != state]
        for part in range(last + 1, parts):
            if part in (last + 1, 9, 10, parts - 1) or rng.chance(40):
                lines[part] += [f"{name} {rng.pick(other)}" for _ in range(rng.between(1, 2))]
        lines[last].append(f"{name} {rng.pick(other)}")
        lines[last].append(f"{name} {state}")
    for part in range(parts):
        text = "".join(f"{line}\n" for line in _mixed(rng, lines[part]) or [f"{names[-1]} idle"])
        name = "logs/workers.log" + (f".{part}" if part else "") + (".gz" if part > 1 else "")
        data = text.encode()
        builder.file(
            name,
            gzipped(data) if part > 1 else data,
            age_days=0.5 + part if part < 5 else 8.5 + part,
        )


def _mixed(rng, lines):
    """The lines in drawn order, those of each worker in the order they had."""
    queues = {}
    for line in lines:
        queues.setdefault(line.split()[0], []).append(line)
    return [queues[name].pop(0) for name in rng.shuffled([line.split()[0] for line in lines])]
