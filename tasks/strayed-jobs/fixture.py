"""Jobs under the supervisor they name, and jobs that lost it to an end, to an adopter or to PID 1.

%P among the arguments is the process id of the one that starts the process, %PP that of the one
above it.
"""

from fluency.world import HelperSpec

PLACES = ("first", "between", "last")


def extend(builder, rng):
    numbers = iter(rng.sample(range(10, 100), 20))
    # With the one whose supervisor lives: three or five strayed jobs in odd worlds, four in even
    # ones.
    orphans, adopted = rng.pick(((1, 1), (2, 2)) if builder.odd else ((1, 2), (2, 1)))

    def job(key, parent, place, supervisor="%P"):
        option, lane = ("--supervisor", supervisor), ("--lane", rng.pick(("fast", "slow", "idle")))
        parts = {
            "first": (option, lane),
            "last": (lane, option),
            "between": (("--id", str(next(numbers))), option, lane),
        }
        return HelperSpec(key, "vox-job", sum(parts[place], ()), parent)

    def some(key, parent, count):
        """Jobs of which the first has the option first."""
        places = ("first", *(rng.pick(PLACES) for _ in range(count - 1)))
        return [job(f"{key}-{number}", parent, place) for number, place in enumerate(places)]

    outside = [
        HelperSpec("gone", "vox-super", ("--pool", "cold"), ends=True),
        *some("orphan", "gone", orphans),
    ]
    decoys = [
        HelperSpec("job-gc", "vox-job-gc", ("--supervisor", "2")),
        HelperSpec("mon", "vox-mon", ("--watch", "vox-job", "--supervisor", "3")),
    ]
    main = [
        HelperSpec("main", "vox-super", ("--main",), subreaper=True),
        job("main-job", "main", rng.pick(("first", "between"))),
        HelperSpec("pool", "vox-super", ("--pool", "warm"), "main"),
        *some("pool-job", "pool", rng.between(1, 3)),
        HelperSpec("spawn", "vox-spawn", (), "pool", ends=True),
        job("spawned", "spawn", rng.pick(PLACES), "%PP"),
        # Last, so that the highest process id is a strayed one's.
        HelperSpec(
            "ended", "vox-super", ("--pool", "hot"), "main", ends=True, ids="parents-digits"
        ),
        *some("adopted", "ended", adopted),
    ]
    for group in (*rng.shuffled([outside, *([decoy] for decoy in decoys)]), main):
        for helper in group:
            builder.process(helper)
