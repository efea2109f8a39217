"""Four workflows with pinned and unpinned action references, and files beside them that do not
count."""

HEX = "0123456789abcdef"
FOLDER = ".github/workflows"
QUOTES = ("", "", "'", '"')


def extend(builder, rng):
    tag = f"v{rng.between(2, 6)}"
    checkout = f"actions/checkout@{tag}"
    cache = f"Swatinem/rust-cache@v{rng.between(1, 2)}.{rng.below(9)}.0"
    reusable = f"vox-foundation/ci/.github/workflows/release.yml@v{rng.between(1, 4)}"
    unpinned = [
        f"codecov/codecov-action@{rng.pick(('main', 'master'))}",
        f"dtolnay/rust-toolchain@{_digest(rng)[:7]}",
        f"peter-evans/create-pull-request@{_digest(rng)}{_digest(rng)[:24]}",
        f"actions/attest@{_digest(rng).upper()}",
    ]
    if builder.odd:  # nine references in odd worlds, eight in even ones
        unpinned += [f"taiki-e/install-action@{_digest(rng)[:12]}"]
    pinned = [
        f"{name}@{_digest(rng)}"
        for name in ("actions/cache", "actions/setup-node", "github/codeql-action/init")
    ]
    steps = [_uses(rng, value, rng.pick(("", "  # keep", " # see #41"))) for value in unpinned]
    steps += [_uses(rng, value, f" # {rng.pick(('v4.2.2', 'v3'))}") for value in pinned]
    steps += [_uses(rng, f"docker/build-push-action@{tag}", f" # {_digest(rng)}")]
    steps += [
        _uses(rng, "./.github/actions/setup", ""),
        _uses(rng, "docker://alpine:3.20", " # small"),
    ]
    steps += [
        ["      # - uses: actions/labeler@v5"],
        ['      - run: echo "uses: actions/greet@v1"'],
    ]
    steps = rng.shuffled(steps)
    shares = {
        "ci.yml": steps[0::3],
        "lint.yml": steps[1::3],
        "nightly.yml": steps[2::3],
        "release.yaml": [],
    }
    for number, (name, share) in enumerate(shares.items()):
        lines = [
            f"name: {name.split('.')[0]}",
            "on: [push]",
            "jobs:",
            "  build:",
            "    runs-on: ubuntu-24.04",
            "    steps:",
        ]
        for step in (
            _uses(rng, checkout, ""),
            *share,
            *([_uses(rng, cache, "")] if number % 2 else []),
        ):
            lines += step
        if name.endswith(".yaml"):
            lines += ["  publish:", f'    uses: "{reusable}"', "    secrets: inherit"]
        builder.file(f"{FOLDER}/{name}", "\n".join(lines) + "\n")
    builder.file(
        f"{FOLDER}/README.md", "Each step reads\n\n- uses: actions/stale@v8\n\nand nothing else.\n"
    )
    old = "jobs:\n  build:\n    steps:\n      - uses: actions/upload-artifact@v2\n"
    builder.file(f"{FOLDER}/archive/old.yml", old)
    builder.file(".github/actions/setup/action.yml", old.replace("upload", "download"))


def _uses(rng, value, comment):
    quote = rng.pick(QUOTES)
    line = f"uses: {quote}{value}{quote}{comment}"
    return (
        [f"      - {line}"]
        if rng.chance(60)
        else [f"      - name: Step {rng.below(90)}", f"        {line}"]
    )


def _digest(rng):
    """40 digits in which each one occurs."""
    return "".join(rng.shuffled(HEX * 2 + HEX[:8]))
