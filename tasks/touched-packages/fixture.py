"""Changed files in nested, renamed and virtual packages; an odd number of packages is touched in
odd worlds."""

PACKAGE = '[package]\nname = "{}"\nversion = "0.1.0"\nedition = "2024"\n'
WORDS = ("audio", "chart", "digest", "editor", "filter", "graph", "mirror", "viewer")


def extend(builder, rng):
    words = iter(rng.shuffled(WORDS))
    crates = sorted(
        {path.split("/")[1] for path in builder.files if path.startswith("crates/vox-")}
    )
    outer, host, gone, rooted, twice, *others = rng.shuffled(
        [name for name in crates if name != "vox-arch-check"]
    )
    inner = rng.pick(("fuzz", "xtask"))
    builder.file(f"crates/{outer}/{inner}/Cargo.toml", PACKAGE.format(f"{outer}-{inner}"))
    builder.file(f"crates/{host}/templates/Cargo.toml", '[workspace]\nmembers = ["*"]\n')
    builder.file(f"crates/{host}/templates/start.txt", "start\n")
    builder.file(
        "plugins/Cargo.toml",
        '[workspace]\nmembers = ["*"]\n\n[workspace.package]\nversion = "0.1.0"\n',
    )
    builder.file("plugins/README.md", "# Plugins\n")
    library, renamed, quiet = next(words), next(words), next(words)
    first = f'[lib]\nname = "vox_{library}_lib"\n\n'
    builder.file(f"plugins/{library}/Cargo.toml", first + PACKAGE.format(f"vox-plugin-{library}"))
    binary = f'\n[[bin]]\nname = "{renamed}"\npath = "src/main.rs"\n'
    builder.file(
        f"plugins/{renamed}/Cargo.toml", PACKAGE.format(f"vox_{renamed}_{next(words)}") + binary
    )
    builder.file(f"plugins/{quiet}/Cargo.toml", PACKAGE.format(f"vox-plugin-{quiet}"))
    changed = [
        f"crates/{outer}/{inner}/targets/parse{rng.between(1, 99)}.rs",
        f"crates/{host}/templates/start.txt",
        f"crates/{gone}/src/legacy/mod.rs",  # gone, and the only one of its package
        f"crates/{rooted}/Cargo.toml",
        f"crates/{twice}/src/lib.rs",
        f"crates/{twice}/docs/design notes.md",
        f"plugins/{library}/src/lib.rs",
        f"plugins/{renamed}/src/views/main view.rs",
        # Outside every package: a folder that is gone, a virtual manifest's, the root's.
        f"crates/vox-retired{rng.between(1, 9)}/src/lib.rs",
        "plugins/README.md",
        "crates/scratch-notes/notes.md",
        "CHANGELOG.md",
        "docs/src/old page.md",
    ]
    more = rng.pick((0, 2)) if builder.odd else rng.pick((1, 3))
    changed += [f"crates/{name}/src/part{rng.between(1, 99)}.rs" for name in others[:more]]
    builder.file("ops/changed.txt", "\n".join(rng.shuffled(changed)) + "\n")
