"""Two benchmark results: regressions just above and far above 25 percent, some of exactly 25, new
and lost names.

The last of either file is a regression, so that a loop that ends in a test ends with status 0.
"""

import json

NAMES = [
    f"{group}/{action}"
    for group in ("db", "mesh", "parse", "queue")
    for action in ("cold start", "get", "put")
]
NAMES += [
    f"{group}/{action}" for group in ("db", "mesh", "parse") for action in ("batch of 64", "encode")
]


def extend(builder, rng):
    spaced = [name for name in NAMES if " " in name]
    first, *names = [spaced[rng.below(len(spaced))], *rng.shuffled(NAMES)]
    names = [name for name in names if name != first]
    quarters = [
        rng.between(500, 900),
        *(rng.between(50, 90) * rng.pick((1, 10, 100, 1000)) for _ in range(15)),
    ]
    old = [4 * quarter for quarter in quarters]
    # Per 100 of the old mean; the first is a little above 25 percent more.
    new = [
        5 * quarters[0] + rng.between(1, 12),
        *(mean * rng.between(128, 260) // 100 for mean in old[1:4]),
    ]
    new += [5 * quarter for quarter in quarters[4:6]]
    new += [mean * rng.between(108, 122) // 100 for mean in old[6:8]]
    new += [mean * rng.between(60, 95) // 100 for mean in old[8:11]]
    new += old[11:13]
    # The new means of the regressions sum up to an odd number in odd worlds and an even one in even
    # worlds.
    new[3] += sum(new[:4]) % 2 != builder.odd
    names = [first, *names]
    before = list(zip(names, old, strict=False))[:14]
    after = [*zip(names, new, strict=False), *zip(names[14:16], old[14:16], strict=False)]
    builder.file("data/bench/baseline.json", _result(rng, before, 2))
    builder.file("data/bench/current.json", _result(rng, after, None))


def _result(rng, means, indent):
    benchmarks = [
        {
            "name": name,
            "iterations": rng.between(10, 900) * 10,
            "stats": {
                "mean_ns": mean,
                "stddev_ns": mean // rng.between(9, 40),
                "max_ns": mean * rng.between(2, 5),
            },
        }
        for name, mean in (*rng.shuffled(means[1:]), means[0])
    ]
    host = {"cpu": "8 cores", "mean_ns": rng.between(10, 99)}
    result = {"commit": f"{rng.below(16**7):07x}", "host": host, "benchmarks": benchmarks}
    return json.dumps(result, indent=indent) + "\n"
