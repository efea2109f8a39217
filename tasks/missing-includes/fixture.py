"""Sources that embed files: some are there, some moved, and some stand in comments only.

An odd number of missing files in odd worlds, an even one in even worlds.
"""

import posixpath

ROOT = "crates/vox-bundle"
SOURCES = (
    "build.rs",
    "src/lib.rs",
    "src/schema.rs",
    "src/assets/mod.rs",
    "src/assets/icons/set.rs",
)
THERE = (
    "src/templates/page.html",
    "src/assets/logo.svg",
    "data/schema.json",
    "src/assets/icons/menu.svg",
    "src/sql/init.sql",
)
NAMES = (
    "banner",
    "cover",
    "footer",
    "header",
    "intro",
    "labels",
    "legend",
    "palette",
    "splash",
    "terms",
)
KINDS = ("txt", "svg", "json", "html")


def extend(builder, rng):
    names = iter(rng.shuffled([f"{name}{number}" for name in NAMES for number in (1, 2, 3)]))
    builder.file(f"{ROOT}/Cargo.toml", '[package]\nname = "vox-bundle"\nversion.workspace = true\n')
    for path in THERE:
        builder.file(f"{ROOT}/{path}", f"{path}\n" * rng.between(1, 5))
    from_crate, from_workspace = f"assets/{next(names)}.txt", f"shared/{next(names)}.txt"
    builder.file(f"{ROOT}/{from_crate}", "from the crate\n")
    builder.file(f"{ROOT}/NOTES.md", f'Write include_str!("{next(names)}.txt");\n')
    builder.file(from_workspace, "from the workspace\n")

    def gone():
        return f"{rng.pick(('', '../', 'parts/'))}{next(names)}.{rng.pick(KINDS)}"

    lines = {source: [] for source in SOURCES}
    for source in SOURCES:
        paths = (
            posixpath.relpath(path, posixpath.dirname(source) or ".")
            for path in rng.shuffled(THERE)
        )
        lines[source] += [
            _one(rng, next(paths)),
            _broken(rng, next(paths)),
            _two(next(paths), next(paths)),
        ]
        lines[source] += [
            f'    // let old = include_str!("{gone()}");',
            f'/// let text = include_str!("{gone()}");',
        ]
    lines["src/lib.rs"].append(
        'const KEY: &str = include_str!(concat!(env!("OUT_DIR"), "/key.txt"));'
    )
    inner = SOURCES[1:]
    lines[rng.pick(inner)].append(_one(rng, from_crate))
    lines[rng.pick(inner)].append(_one(rng, from_workspace))
    lines[rng.pick(SOURCES)].append(_one(rng, gone()))
    for _ in range(2 if builder.odd else 1):
        lines[rng.pick(SOURCES)].append(_broken(rng, gone()))
    lines[rng.pick(SOURCES)].append(
        f'static RAW: &[u8] = include_bytes!("{gone()}"); // include_bytes!("{gone()}")'
    )
    source = rng.pick(inner)
    sound = posixpath.relpath(rng.pick(THERE[:2]), posixpath.dirname(source))
    lines[source] = [line for line in lines[source] if f'"{sound}"' not in line] + [
        _two(sound, gone())
    ]
    for source in SOURCES:
        text = [
            "//! Embedded files.",
            f'//! See include_str!("{gone()}").',
            "",
            *rng.shuffled(lines[source]),
            "",
        ]
        builder.file(f"{ROOT}/{source}", "\n".join(text))


def _one(rng, target):
    return f'pub static TEXT_{rng.between(100, 999)}: &str = include_str!("{target}");'


def _broken(rng, target):
    """As rustfmt breaks a long line."""
    macro, kind = rng.pick((("include_str", "&str"), ("include_bytes", "&[u8]")))
    return f'pub static PART_{rng.between(100, 999)}: {kind} = {macro}!(\n    "{target}"\n);'


def _two(first, second):
    return f'pub static PAIR: [&str; 2] = [include_str!("{first}"), include_str!("{second}")];'
