"""Rules in the order that counts, and for each a file that it covers and one that it only seems to
cover."""

TEAMS = ("apps", "core", "data", "docs", "infra", "mesh", "qa", "release", "security", "web")


def extend(builder, rng):
    teams = iter(
        rng.shuffled([f"@vox/{team}" for team in TEAMS] + ["@ada", "@bo-lund", "@cleo", "@dmitri"])
    )
    crate = rng.pick(("vox-db", "vox-corpus"))
    legacy = rng.pick(("infra/legacy", "infra/attic"))
    below = rng.pick(("apps", "plugins"))
    one = rng.pick(("Cargo.lock", "deny.toml"))
    # Pattern, what it covers, what it only seems to cover.
    rules = [
        ("*", [f"tools/run{rng.between(1, 99)}.sh"], []),
        (
            "*.md",
            ["README.md", f"crates/{crate}-types/docs/notes{rng.between(1, 99)}.md"],
            ["tools/notes.md.txt"],
        ),
        (
            f"/crates/{crate}/",
            [f"crates/{crate}/src/part{rng.between(1, 99)}.rs"],
            [f"crates/{crate}-types/src/lib.rs"],
        ),
        (
            "/docs/",
            [f"docs/book/img/fig{rng.between(1, 99)}.svg"],
            ["web/docs/style.css", "Docs/logo.svg"],
        ),
        ("docs/*", [f"docs/logo{rng.between(1, 99)}.svg"], ["docs/guide/theme.css"]),
        (
            f"{below}/",
            [f"ui/{below}/viewer/main.ts", f"{below}/index.ts"],
            [f"ui/my-{below}/main.ts"],
        ),
        (
            "/crates/*/tests/",
            [f"crates/{crate}/tests/case{rng.between(1, 99)}.rs"],
            ["crates/vox-cli/src/tests/mod.rs"],
        ),
        (f"/{one}", [one], [f"crates/vox-cli/{one}"]),
        (f"/{legacy}", [f"{legacy}/main.tf"], [f"{legacy}-next/main.tf"]),
        ("/scripts/*.sh", ["scripts/build.sh"], ["scripts/ci/test.sh"]),
        ("/contracts/events.schema.json", ["contracts/events.schema.json"], []),
        ("fixtures/", ["tools/fixtures/a.json"], []),
        ("/web/*/locales/", ["web/admin/locales/de.json"], []),
    ]
    chosen = rules[: rng.between(10, 12)] + rules[12:]
    lines, changed = ["# Who reviews what; the last rule that matches decides.", ""], []
    for pattern, covered, _ in chosen:
        owners = (
            []
            if pattern == f"/{legacy}"
            else [next(teams) for _ in range(1 + (pattern in ("*.md", "docs/*")))]
        )
        comment = (
            f"   # {rng.pick(('see the handbook', 'until autumn', 'ask @nobody first'))}"
            if rng.chance(30)
            else ""
        )
        comment = "  # by @nobody" if pattern in ("/docs/", f"/{legacy}") else comment
        lines.append(" ".join([pattern.ljust(rng.pick((1, 24))), *owners]).rstrip() + comment)
        changed += covered
        if rng.chance(20):
            lines += ["", f"# {rng.pick(TEAMS)}"]
    changed += [path for _, _, seeming in rules for path in seeming]
    kept = 21 if builder.odd else 18
    builder.file(".github/CODEOWNERS", "\n".join(lines) + "\n")
    # All that only seem to match and most of the others, so that each kind stays.
    needed = [path for _, _, seeming in rules for path in seeming]
    needed += [rules[place][1][0] for place in (2, 4, 5, 6, 8, 12)]
    rest = rng.shuffled([path for path in changed if path not in needed])
    builder.file(
        "ops/changed.txt", "\n".join(rng.shuffled([*needed, *rest[: kept - len(needed)]])) + "\n"
    )
