"""Servers started twice and three times, and others whose command line is nearly that of
another."""

from dataclasses import replace

from fluency.world import HelperSpec

LONG = 80


def extend(builder, rng):
    port, other, third = (str(7000 + number) for number in rng.sample(range(1000), 3))
    word, folder = (
        rng.pick(("Release", "Nightly", "Stable")),
        rng.pick(("models", "graphs", "shards")),
    )
    log = ("--log-format", "json", "--cache-dir", f"/var/cache/vox/{folder}")
    lines = {
        "same": ("--root", f"/srv/vox/{folder}/{word}/current", "--port", port, *log),
        "case": ("--root", f"/srv/vox/{folder}/{word.lower()}/current", "--port", port, *log),
        "twin": ("--root", f"/srv/vox/{folder}/{word}/current", *log, "--port", other),
        "late": (
            "--root",
            f"/srv/vox/{folder}/{word}/archive",
            *log,
            "--port",
            third,
            "--workers",
            "2",
        ),
        "swap": (
            "--root",
            f"/srv/vox/{folder}/{word}/archive",
            *log,
            "--workers",
            "2",
            "--port",
            third,
        ),
    }
    # Three copies too many in odd worlds, two or four in even ones.
    more = rng.pick(((1, 2), (2, 1)) if builder.odd else ((1, 1), (2, 2)))
    first = [HelperSpec(key, "vox-serve", line) for key, line in lines.items()]
    first.append(HelperSpec("serve-gc", "vox-serve-gc", lines["same"]))
    again = [
        HelperSpec(f"{key}-{number}", "vox-serve", lines[key])
        for key, count in zip(("same", "twin"), more, strict=True)
        for number in range(count)
    ]
    again.append(HelperSpec("gc-again", "vox-serve-gc", lines["same"]))
    first, again = rng.shuffled(first), rng.shuffled(again)
    again[0] = replace(again[0], ids="another-digit")
    for helper in (*first, *again):
        builder.process(helper)
    short = [line for line in lines.values() if len(" ".join(("vox-serve", *line))) <= LONG]
    builder.require(not short, f"command lines of more than {LONG} characters")
