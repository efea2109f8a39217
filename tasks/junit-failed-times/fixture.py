"""A JUnit report of four suites: failed test cases among errors, skipped, flaky and passed ones
that mention failures."""

MODULES = ("cache", "codec", "lease", "parse", "pool", "queue", "retry", "router")
CHECKS = (
    "caps_at_limit",
    "drains_in_order",
    "handles_empty",
    "is_idempotent",
    "skips_stale",
    "times_out",
)
# Milliseconds of the failed cases: no order as text is the order by number. The last one is for odd
# worlds alone.
BANDS = (
    (100_000, 199_999),
    (50_000, 99_999),
    (5_000, 9_999),
    (2_000, 4_999),
    (100, 999),
    (20_000, 40_000),
)
OTHERS = ("plain",) * 14 + ("mentions",) * 4 + ("error",) * 3 + ("skipped",) * 2 + ("flaky",) * 3


def extend(builder, rng):
    bands = BANDS if builder.odd else BANDS[:5]
    times = [rng.between(*band) for band in bands]
    more = iter(rng.sample([ms for ms in range(7, 260_000, 37) if ms not in times], len(OTHERS)))
    cases = rng.shuffled(
        [*(("failed", ms) for ms in times), *((kind, next(more)) for kind in OTHERS)]
    )
    # The first and the last failed case print before they fail.
    failed = [number for number, (kind, _) in enumerate(cases) if kind == "failed"]
    for number in (failed[0], failed[-1]):
        cases[number] = ("failed late", cases[number][1])
    crates = sorted(
        {path.split("/")[1] for path in builder.files if path.startswith("crates/vox-")}
    )
    suites = [cases[start::4] for start in range(4)]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines += [
        f'<testsuites name="nextest-run" tests="{len(cases)}" failures="{len(times)}" time="391.404">'
    ]
    number = 0
    for crate, suite in zip(rng.sample(crates, 4), suites, strict=True):
        lines += [
            f'  <testsuite name="{crate}" tests="{len(suite)}" time="{rng.between(10, 99)}.{rng.below(9)}00">'
        ]
        for kind, ms in suite:
            number += 1
            name = f"{rng.pick(MODULES)}::tests::{rng.pick(CHECKS)}_{number}"
            lines += _case(rng, crate, name, kind, ms)
        lines += ["  </testsuite>"]
    builder.file("target/nextest/ci/junit.xml", "\n".join([*lines, "</testsuites>"]) + "\n")


def _case(rng, crate, name, kind, ms):
    stamp = f"2026-05-14T09:{rng.below(60):02d}:{rng.below(60):02d}.{rng.below(1000):03d}+00:00"
    start = f'    <testcase name="{name}" classname="{crate}" timestamp="{stamp}" time="{ms // 1000}.{ms % 1000:03d}"'
    if kind == "plain":
        return [f"{start}/>"]
    failure = [
        '      <failure message="assertion failed" type="test failure with exit code 101">',
        f"thread '{name}' panicked at crates/{crate}/src/lib.rs:{rng.between(9, 400)}:13:</failure>",
    ]
    said = ["      <system-out>running 1 test", "      a case of its own</system-out>"]
    body = {
        "failed": [*failure, *said],
        "failed late": [*said, *failure],
        "mentions": [
            "      <system-out><![CDATA[the report must hold one line",
            '      that reads <failure message="assertion failed" type="x"/> and no other]]></system-out>',
        ],
        "error": [
            '      <error message="no such file" type="execution error">',
            "      exit code 127</error>",
        ],
        "skipped": ['      <skipped message="ignored"/>'],
        "flaky": [
            f'      <flakyFailure message="timed out" time="{rng.below(90)}.250" type="x">',
            "late</flakyFailure>",
        ],
    }
    return [f"{start}>", *body[kind], "    </testcase>"]
