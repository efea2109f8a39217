"""A runbook with twelve fenced blocks, of which four are console, and backticks that are no fences."""


def extend(builder, rng):
    # The number after --keep is odd in odd worlds and even in even ones.
    keep = 2 * rng.between(2, 30) + builder.odd
    port, peers = rng.between(8000, 8999), rng.between(3, 9)
    blocks = [
        [
            "```console",
            f'curl -fsS "http://127.0.0.1:{port}/readyz"',
            "",
            "systemctl restart vox-mesh",
            "```",
        ],
        [
            "```console",
            f"# wait for {peers} peers",
            "for p in a b c; do",
            f'  vox peer ping "$p" --timeout {rng.between(5, 40)}',
            "done",
            "cat > note.md <<'END'",
            "    ```text",
            "    drained",
            "    ```",
            "END",
            "```",
        ],
        [
            '```console title="Drain"',
            f"vox queue drain --limit {rng.between(100, 999)}",
            f'export VOX_HOME="$HOME/.vox-{rng.between(10, 99)}"',
            "```",
        ],
        [
            "```console editable",
            f"vox db vacuum --keep {keep}",
            'echo "depth: $(vox queue depth)"',
            "```",
        ],
        ["```console-session", f"$ vox queue depth --port {port}", "12", "```"],
        ["```Console", f"vox db check --limit {rng.between(10, 99)}", "```"],
        ["```consoles", "alias vq='vox queue'", "```"],
        ["```sh", "vox status", "```"],
        [
            "```text",
            "A step looks like this:",
            "  ```console",
            "  vox step",
            "  ```",
            "```console opens such a block.",
            "Nothing else does.",
            "```",
        ],
        ["```rust", "fn main() {}", "```"],
        ["```json", f'{{"limit": {rng.between(100, 999)}}}', "```"],
        ["```", "no language", "```"],
    ]
    lines = ["# Runbook", ""]
    for number, block in enumerate(rng.shuffled(blocks), 1):
        lines += [
            f"## Step {number}",
            "",
            rng.pick(("Run this.", "Read first, then act.", "Only when asked.")),
            "",
        ]
        lines += [*block, ""]
        if number == 6:
            lines += [
                "Blocks that open with ```console are run by the checker, those with `sh` are not.",
                "Others are text.",
                "",
            ]
    builder.file("docs/runbook.md", "\n".join(lines) + "\n")
