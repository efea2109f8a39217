"""Processes with one exact argument, and processes with nearly that one; three or five in odd
worlds, four in even ones."""

from dataclasses import replace

from fluency.world import HelperSpec

WANTED = "--profile=canary"
NAMES = ("vox-router", "vox-cell", "edge-proxy", "mesh-agent", "vox-tally", "batchd")


def extend(builder, rng):
    count = rng.pick((3, 5)) if builder.odd else 4
    # In another order than that of the names, in which processes may be listed.
    names = [rng.pick(NAMES) for _ in range(count)]
    while names == sorted(names):
        names = [rng.pick(NAMES) for _ in range(count)]
    places = rng.shuffled([0, 1, 2, *(rng.below(3) for _ in range(count - 3))])

    def process(key, name, *own, place=1):
        rest = [
            ("--port", str(rng.between(7000, 7999))),
            ("--quiet",),
            (f"--shard={rng.between(1, 30)}",),
        ]
        parts = rng.sample(rest, 2)
        parts.insert(place, own)
        return HelperSpec(key, name, sum(parts, ()))

    canaries = [
        process(f"canary-{number}", name, WANTED, place=place)
        for number, (name, place) in enumerate(zip(names, places, strict=True))
    ]
    decoys = [
        process("second", rng.pick(NAMES), f"{WANTED}-2"),
        process("capital", rng.pick(NAMES), "--profile=Canary"),
        process("apart", rng.pick(NAMES), "--profile", "canary"),
        process("note", rng.pick(NAMES), "--note", f"runs with {WANTED} since may"),
        process("named", "vox-canary", "--profile=stable"),
    ]
    # On both sides of the process id that gains a digit.
    early, late = rng.between(1, count - 1), rng.between(1, 4)
    before = _mixed(rng, canaries[:early], rng.shuffled(decoys)[:late])
    after = _mixed(rng, canaries[early:], [decoy for decoy in decoys if decoy not in before])
    after[0] = replace(after[0], ids="another-digit")
    for helper in (*before, *after):
        builder.process(helper)


def _mixed(rng, first, second):
    """Both lists as one, the first in its order."""
    mixed = list(second)
    for place, helper in zip(
        sorted(rng.sample(range(len(first) + len(second)), len(first))), first, strict=True
    ):
        mixed.insert(place, helper)
    return mixed
