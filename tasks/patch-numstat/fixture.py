"""A mailed patch of six files; the added lines are odd in odd worlds and even in even ones."""

SQL = ("SELECT id FROM runs;", "DELETE FROM runs;", "VACUUM;", "CREATE INDEX runs_at ON runs (at);")
RUST = (
    "    let limit = 4;",
    "    retry(2);",
    "}",
    "    Ok(())",
    "fn run() {",
    "    wait().await?;",
)
TEXT = ("Queues drain in order.", "See the handbook.", "Workers restart.", "One mesh per site.")
NO_FINAL = "\\ No newline at end of file"


def extend(builder, rng):
    number = rng.between(10, 99)
    # What changed lines hold that read like a header once - or + stands before them.
    removed = ["-- a/runs: the old table", "-- ", "", "- item"]
    added = ["++ b/runs: the new table", "++x;", "", "+ more"]
    files = [
        (f"crates/vox-db/migrations/00{number}_runs.sql", "changed", SQL),
        (f"crates/vox-db/src/part{number}.rs", "changed", RUST),
        (f"docs/src/queues{number}.md", "changed", TEXT),
        (f"docs/src/mesh{number}.md", "new", TEXT),
        (f"crates/vox-cli/src/old{number}.rs", "deleted", RUST),
    ]
    # The first file's first hunk has all of the look-alikes.
    plans = {files[0][0]: [(removed, added)]}
    for path, kind, _ in files:
        hunks = plans.setdefault(path, [])
        while kind == "changed" and len(hunks) < rng.between(1, 3):
            hunks.append((rng.sample(removed, rng.below(3)), rng.sample(added, rng.below(3))))
    parts = [_file(rng, path, kind, stock, plans[path]) for path, kind, stock in files]
    parts.append(_version(rng, f"VERSION{rng.between(1, 9)}", NO_FINAL))
    total = sum(count for _, _, _, count, _ in parts)
    if total % 2 != builder.odd:
        parts[3] = _file(rng, files[3][0], "new", TEXT, [], length=parts[3][3] + 1)
    parts = rng.shuffled(parts)
    stats = [
        f" {path:44} | {more + less:2} {'+' * more}{'-' * less}" for path, _, _, more, less in parts
    ]
    created = [f" {word} mode 100644 {path}" for path, word, *_ in parts if word]
    head = [
        f"From {rng.split('commit').bytes(20).hex()} Mon Sep 17 00:00:00 2001",
        "From: Ada Brandt <ada@example.net>",
        f"Date: Tue, 12 May 2026 09:{rng.between(10, 59)}:33 +0000",
        "Subject: [PATCH] Move runs to a table of their own",
        "",
        "- one table per kind of run",
        "- no more waiting for locks",
        "-- which took long",
        "",
        "The line that mattered was",
        "+    retry(7);",
        "> --- a/crates/vox-db/src/old.rs",
        "and it is gone.",
        "---",
        *stats,
        f" {len(parts)} files changed",
        *created,
        "",
    ]
    body = [line for _, _, lines, _, _ in parts for line in lines]
    builder.file("ops/change.patch", "\n".join([*head, *body, "-- ", "2.43.0", "", ""]))


def _index(rng):
    return f"{rng.below(1 << 28):07x}..{rng.below(1 << 28):07x}"


def _file(rng, path, kind, stock, hunks, length=0):
    """Path, what git says of its mode, lines of the patch, added and removed lines."""
    head = [f"diff --git a/{path} b/{path}"]
    if kind == "changed":
        lines, more, less, at, shift = [], 0, 0, rng.between(1, 20), 0
        for removed, added in hunks:
            around = [f" {rng.pick(stock)}" for _ in range(5)] + [" "]
            minus = [
                f"-{line}"
                for line in [*removed, *(rng.pick(stock) for _ in range(rng.between(1, 4)))]
            ]
            plus = [
                f"+{line}"
                for line in [*added, *(rng.pick(stock) for _ in range(rng.between(1, 4)))]
            ]
            body = [*around[:3], *rng.shuffled(minus), *rng.shuffled(plus), *around[3:]]
            old, new = 6 + len(minus), 6 + len(plus)
            lines += [f"@@ -{at},{old} +{at + shift},{new} @@", *body]
            at, shift = at + old + rng.between(8, 40), shift + new - old
            more, less = more + len(plus), less + len(minus)
        return (
            path,
            "",
            [*head, f"index {_index(rng)} 100644", f"--- a/{path}", f"+++ b/{path}", *lines],
            more,
            less,
        )
    count = length or rng.between(2, 9)
    texts = [rng.pick((*stock, "")) for _ in range(count - 1)] + [rng.pick(stock)]
    if kind == "new":
        head += [
            "new file mode 100644",
            f"index {_index(rng)}",
            "--- /dev/null",
            f"+++ b/{path}",
            f"@@ -0,0 +1,{count} @@",
        ]
        return path, "create", [*head, *(f"+{text}" for text in texts)], count, 0
    head += [
        "deleted file mode 100644",
        f"index {_index(rng)}",
        f"--- a/{path}",
        "+++ /dev/null",
        f"@@ -1,{count} +0,0 @@",
    ]
    return path, "delete", [*head, *(f"-{text}" for text in texts)], 0, count


def _version(rng, path, no_final):
    """A file of one line, whose hunk header states no counts."""
    old, new = f"-0.{rng.between(2, 40)}.0", f"+0.{rng.between(41, 90)}.0"
    head = [
        f"diff --git a/{path} b/{path}",
        f"index {_index(rng)} 100644",
        f"--- a/{path}",
        f"+++ b/{path}",
    ]
    return path, "", [*head, "@@ -1 +1 @@", old, no_final, new, no_final], 1, 1
