"""A library on three levels and files that no declaration leads to: five in odd worlds, four or six
in even ones."""

WORDS = (
    "area", "bound", "cell", "chart", "edge", "face", "grid", "hull", "label", "layer", "lens", "line", "mark", "node",
    "path", "plane", "point", "ring", "scale", "shape", "tile",
)  # fmt: skip
SOURCES = "crates/vox-atlas/src"


def extend(builder, rng):
    words = iter(rng.shuffled(WORDS))
    declared = {"lib.rs": []}

    def module(parent, path, how="mod {};", before=()):
        """A file that its parent declares, by the name of the file or, for mod.rs, of its
        folder."""
        name = path.removesuffix("/mod.rs").removesuffix(".rs").rsplit("/", 1)[-1]
        declared[parent] += [[*before, how.format(name)]]
        declared[path] = []

    def orphan(path):
        declared[path] = []
        return path

    first, second, third, tests, given = (next(words) for _ in range(5))
    module("lib.rs", f"{first}.rs", "pub mod {};")
    module("lib.rs", f"{second}/mod.rs")
    module("lib.rs", f"{third}.rs", "pub(crate) mod {};")
    module("lib.rs", f"{tests}.rs", before=["#[cfg(test)]"])
    folder = f"{rng.pick(('platform', 'system'))}"
    declared["lib.rs"] += [[f'#[path = "{folder}/{given}_unix.rs"]', f"mod {given};"]]
    declared[f"{folder}/{given}_unix.rs"] = []
    child, deep, other, leaf = (next(words) for _ in range(4))
    module(f"{first}.rs", f"{first}/{child}.rs", "pub(super) mod {};")
    module(f"{first}.rs", f"{first}/{deep}/mod.rs", "pub mod {};")
    module(f"{first}/{deep}/mod.rs", f"{first}/{deep}/{leaf}.rs", "    mod {}; // see the notes")
    module(f"{second}/mod.rs", f"{second}/{other}.rs", "pub(super) mod {};")
    module(f"{second}/{other}.rs", f"{second}/{other}/{next(words)}.rs")
    for _ in range(rng.between(1, 2)):
        module(f"{third}.rs", f"{third}/{next(words)}.rs", rng.pick(("mod {};", "pub mod {};")))
    commented, inside, lost, alone = (next(words) for _ in range(4))
    declared["lib.rs"] += [[f"// mod {commented};"]]
    orphan(f"{commented}.rs")
    module(f"{commented}.rs", f"{commented}/{inside}.rs")  # reached from an orphan only
    orphan(f"{third}/{rng.pick((child, leaf))}.rs")  # of the same name as a module elsewhere
    orphan(f"{second}/{lost}.rs")  # beside a module that does not declare it
    if builder.odd:
        orphan(f"{first}/{tests}.rs")
    elif rng.chance(50):
        declared[f"{second}/mod.rs"] += [[f"    /// Was once mod {alone};"]]
        orphan(f"{second}/{alone}.rs")
        orphan(f"{third}/{second}/mod.rs")
    builder.file(
        "crates/vox-atlas/Cargo.toml",
        '[package]\nname = "vox-atlas"\nversion = "0.1.0"\nedition = "2024"\n',
    )
    for path in sorted(declared):
        lines = [line for group in rng.shuffled(declared[path]) for line in group]
        text = [
            f"//! {path}",
            "",
            *lines,
            "",
            f"pub fn size_{rng.between(10, 99)}() -> usize {{",
            "    0",
            "}",
        ]
        builder.file(f"{SOURCES}/{path}", "\n".join(text) + "\n")
