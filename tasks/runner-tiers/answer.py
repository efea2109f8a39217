"""The tiers of all processes named exactly vox-runner, and how many have each."""

from collections import Counter


def expected(world, processes):
    tiers = Counter(_tier(process.args) for process in processes if process.name == "vox-runner")
    return [f"{tier} {count}" for tier, count in tiers.items()]


def _tier(args):
    if "--tier" in args:
        return args[args.index("--tier") + 1]
    return next(
        (arg.removeprefix("--tier=") for arg in args if arg.startswith("--tier=")), "standard"
    )
