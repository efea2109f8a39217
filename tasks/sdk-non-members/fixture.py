"""A workspace of its own with patterns; an odd number of packages is no member in odd worlds."""

WORDS = (
    "audio",
    "cache",
    "chart",
    "codec",
    "graph",
    "index",
    "mail",
    "mesh",
    "paint",
    "query",
    "relay",
    "store",
    "voice",
)


def extend(builder, rng):
    words = iter(rng.shuffled(WORDS))
    core, old, off = next(words), next(words), next(words)
    plugins = [next(words) for _ in range(rng.between(2, 3))]
    langs = rng.sample(("go", "java", "node", "ruby", "swift"), 2)
    macros = [f"{next(words)}-macros" for _ in range(2)]
    members = [
        core,
        *(f"plugins/{name}" for name in plugins),
        *(f"lang/{name}/bindings" for name in langs),
        *macros,
    ]
    strays = [
        f"{core}/fuzz",  # below a member
        f"plugins/{plugins[0]}/derive",
        f"legacy/{old}",  # below an excluded folder
        f"plugins/{off}",  # excluded, though a pattern matches
        f"plugins/{off}/tests/app",
        f"lang/{langs[0]}/samples",
        f"attic/{old}",  # in a pattern that is commented out
        f"demo/{next(words)}",  # in an array of another table
        f"{macros[0]}/tests/ui",
    ]
    strays += [f"lang/{langs[1]}", f"plugins/{plugins[1]}/xtask"][
        : rng.pick((0, 2)) if builder.odd else 1
    ]
    for path in (*members, *strays):
        name = f"sdk-{path.replace('/', '-')}"
        builder.file(
            f"sdk/{path}/Cargo.toml",
            f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2024"\n',
        )
        builder.file(f"sdk/{path}/src/lib.rs", f"//! {name}\n")
    # Folders that patterns match and that are no packages.
    builder.file(f"sdk/plugins/{next(words)}/README.md", "# Planned\n")
    builder.file("sdk/old-macros/notes.md", "Moved to the crates.\n")
    lines = [
        f'  "{core}", # the base',
        '  "plugins/*",',
        '  # "attic/*", gone ["soon"]',
        '  "lang/*/bindings",',
        '  "*-macros",',
    ]
    builder.file(
        "sdk/Cargo.toml",
        "[workspace]\n"
        + "members = [\n"
        + "\n".join([lines[0], *rng.shuffled(lines[1:])])
        + f'\n]\nexclude = ["legacy", "plugins/{off}"]\n'
        + f'default-members = ["{core}", "plugins/{plugins[0]}"]\nresolver = "3"\n\n'
        + f'[workspace.package]\nversion = "0.{rng.between(2, 30)}.0"\n\n'
        + f'[workspace.metadata.docs]\nmembers = ["demo/*", "{core}/fuzz"]\n',
    )
