"""Runners with a tier in either spelling, with the default one said and unsaid, and options that
look like it."""

from fluency.world import HelperSpec

# Odd and even worlds have no named tier in common.
TIERS = {True: ("batch", "edge", "nightly", "replay"), False: ("bulk", "canary", "spot", "urgent")}


def extend(builder, rng):
    first, second = rng.sample(TIERS[builder.odd], 2)
    counts = rng.pick(((1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2)))
    named = [
        tier for tier, count in zip((first, second), counts, strict=True) for _ in range(count)
    ]
    # The first two named ones are spelled apart, further ones either way.
    options = [
        _spelled(tier, number == 0 or (number > 1 and rng.chance(50)))
        for number, tier in enumerate(named)
    ]
    # Those without the option stand side by side, so that one of two has the option that looks like
    # it.
    options += [("--tier", "standard"), ("--max-tier=platinum",), *[()] * rng.between(1, 2)]
    runners = []
    for number, option in enumerate(options):
        limit = ("--tier-limit", str(rng.between(2, 9))) if (len(options) - number) % 2 else ()
        parts = [part for part in (option, ("--slot", str(rng.between(1, 60))), limit) if part]
        runners.append(HelperSpec(f"runner-{number}", "vox-runner", sum(rng.shuffled(parts), ())))
    builder.require(6 <= len(runners) <= 10, f"6 to 10 runners, not {len(runners)}")
    decoys = [
        HelperSpec("runner-gc", "vox-runner-gc", ("--tier", first)),
        HelperSpec("top", "vox-top", ("--match", f"vox-runner --tier {second}")),
    ]
    for helper in rng.shuffled([*runners, *decoys]):
        builder.process(helper)


def _spelled(tier, joined):
    return (f"--tier={tier}",) if joined else ("--tier", tier)
