"""Tools with CRLF line ends, all or one of them, and such as hold a carriage return otherwise."""

CRLF = ("ci/win/paths.json", ".hooks/pre-push", "dev/seed db.sh", "vet.ps1")
"""The last one is the last by name, for loops that end in a test."""
ONE_LAST, ONE_FIRST = "ci/cache.sh", "gen/pack.sh"
OTHERS = (
    "bench.ps1",
    "ci/win/setup.ps1",
    "ci/matrix.json",
    "dev/.profile.sh",
    "triage.sh",
    "shrink.awk",
)
PROGRESS = ("gen/gen.awk", "dev/reset.sh")


def extend(builder, rng):
    others = rng.shuffled(OTHERS)
    whole = {*CRLF, *others[: rng.pick((1, 3)) if builder.odd else 2]}
    for name in (*CRLF, *others):
        end = "\r\n" if name in whole else "\n"
        builder.file(f"tools/{name}", end.join(_lines(rng, name)) + end, crlf=name in whole)
    last = _lines(rng, ONE_LAST)
    builder.file(f"tools/{ONE_LAST}", "\n".join(last) + "\r\n", crlf=True)
    first, *rest = _lines(rng, ONE_FIRST)
    builder.file(f"tools/{ONE_FIRST}", "\n".join([f"{first}\r", *rest]) + "\n", crlf=True)
    for name in PROGRESS:
        builder.file(
            f"tools/{name}", "\n".join([*_lines(rng, name), "echo 10%\r20%\r done"]) + "\n"
        )
    builder.file(
        "tools/gen/fmt.sh",
        "\n".join([*_lines(rng, "fmt"), r"printf 'return\r\n' > answer.txt"]) + "\n",
    )
    builder.file("tools/.hooks/pre-commit", "\n".join(_lines(rng, "pre-commit")) + "\n")
    builder.file(
        "tools/CRLF-notes.md",
        "# CRLF\n\nLine ends of CRLF turn up after an edit on another system.\n",
    )
    builder.file("tools/ci/empty.sh", "")


def _lines(rng, name):
    if name.endswith(".json"):
        return [
            "{",
            *(f'  "return{n}": {rng.below(100)},' for n in range(rng.between(2, 5))),
            '  "last": 0',
            "}",
        ]
    return ["# warns and returns", *(f"step {rng.below(1000)}" for _ in range(rng.between(3, 8)))]
