"""Processes with one exact argument, and processes with nearly that one; three or five in odd worlds, four in even ones."""

from dataclasses import replace

from fluency.world import HelperSpec

WANTED = "--profile=canary"
NAMES = ("vox-router", "vox-cell", "edge-proxy", "mesh-agent", "vox-tally", "batchd")


def extend(builder, rng):
    count = rng.pick((3, 5)) if builder.odd else 4
    places = [rng.below(3) for _ in range(count - 3)]

    def arguments(*own):
        rest = [("--port", str(rng.between(7000, 7999))), ("--quiet",), (f"--shard={rng.between(1, 30)}",)]
        return own, rng.sample(rest, 2)

    def canary(key, place):
        own, (before, after) = arguments(WANTED)
        order = {0: (own, before, after), 1: (before, own, after), 2: (before, after, own)}[place]
        return HelperSpec(key, rng.pick(NAMES), sum(order, ()))

    def decoy(key, name, *own):
        own, (before, after) = arguments(*own)
        return HelperSpec(key, name, (*before, *own, *after))

    canaries = [canary(f"canary-{number}", place) for number, place in enumerate(rng.shuffled([0, 1, 2, *places]))]
    decoys = [
        decoy("second", rng.pick(NAMES), f"{WANTED}-2"),
        decoy("capital", rng.pick(NAMES), "--profile=Canary"),
        decoy("apart", rng.pick(NAMES), "--profile", "canary"),
        decoy("note", rng.pick(NAMES), "--note", f"runs with {WANTED} since may"),
        decoy("named", "vox-canary", "--profile=stable"),
    ]
    # On both sides of the process id that gains a digit there are two kinds.
    early, late = rng.between(1, count - 1), rng.between(1, 4)
    before = rng.shuffled([*canaries[:early], *decoys[:late]])
    after = rng.shuffled([*canaries[early:], *decoys[late:]])
    after[0] = replace(after[0], ids="another-digit")
    for helper in (*before, *after):
        builder.process(helper)
