"""The saved output of four test binaries: failing tests of three kinds, one of them in two
binaries, and look-alikes."""

MODULES = ("cache", "codec", "index", "lease", "parse", "peer", "pool", "queue", "retry", "router")
CHECKS = (
    "caps_at_limit",
    "drains_in_order",
    "handles_empty",
    "merges_ranges",
    "rejects_bad_header",
    "reports_depth",
    "round_trips",
    "survives_restart",
    "times_out",
)
REASONS = ("", ", needs a network", ", last run FAILED", ", 1 of 3 runs ... FAILED on macOS")


def extend(builder, rng):
    crates = sorted(
        {path.split("/")[1] for path in builder.files if path.startswith("crates/vox-")}
    )
    crates = rng.sample(crates, 4)
    names = rng.shuffled([f"{module}::tests::{check}" for module in MODULES for check in CHECKS])
    twice = names.pop()
    panicking = [f"{names.pop()} - should panic" for _ in range(2)]
    # With the doc tests of two crates: 7 or 9 failing names in odd worlds, 6 or 8 in even ones.
    plain = [names.pop() for _ in range(rng.pick((2, 4) if builder.odd else (1, 3)))]
    failing = [[twice, panicking[0]], [plain[0]], [twice, panicking[1]], plain[1:]]
    lines = []
    for number, (crate, failed) in enumerate(zip(crates, failing, strict=True)):
        passed = [names.pop() for _ in range(rng.between(6, 10))] + [
            "log::tests::marks_FAILED_jobs"
        ]
        if number in (1, 3):
            passed += [twice] if number == 1 else [f"{names.pop()} - should panic"]
        reasons = REASONS if number % 2 else REASONS[:1]
        skipped = [f"{names.pop()} ... ignored{reason}" for reason in reasons]
        place = f"{rng.below(16**8):08x}"
        lines += [
            f"     Running unittests src/lib.rs (target/debug/deps/{crate.replace('-', '_')}-{place})"
        ]
        lines += _binary(rng, failed, [f"{name} ... ok" for name in passed] + skipped)
        if number < 2:
            at = rng.between(9, 120)
            documented = [
                f"{crate}/src/lib.rs - {rng.pick(MODULES)}::{kind} (line {at + step})"
                for step, kind in ((0, "Lease"), (70, "Ring"))
            ]
            lines += [f"   Doc-tests {crate.replace('-', '_')}"]
            lines += _binary(rng, documented[:1], [f"{documented[1]} ... ok"])
    lines += ["test harness: 2 of 4 shards FAILED", "error: 6 targets failed"]
    builder.file("logs/test-run.txt", "\n".join(lines) + "\n")


def _binary(rng, failed, others):
    results = rng.shuffled([f"{name} ... FAILED" for name in failed] + others)
    lines = ["", f"running {len(results)} tests", *(f"test {result}" for result in results)]
    if failed:
        lines += ["", "failures:", ""]
    for name in failed:
        child = f"{rng.pick(MODULES)}::child_{rng.below(100)}"
        lines += [f"---- {name.removesuffix(' - should panic')} stdout ----", "running 2 tests"]
        lines += [
            f"    test {child} ... FAILED",
            f"[shard 2] test {child}::again ... FAILED",
            "[shard 2] 1 FAILED",
        ]
        lines += [
            f"thread '{name.split(' ')[0]}' panicked at src/lib.rs:{rng.between(9, 400)}:9:",
            "not equal",
            "",
        ]
    if failed:
        lines += [
            "",
            "failures:",
            *(f"    {name.removesuffix(' - should panic')}" for name in failed),
        ]
    verdict = "FAILED" if failed else "ok"
    return [
        *lines,
        "",
        f"test result: {verdict}. {len(results) - len(failed)} passed; {len(failed)} failed",
        "",
    ]
