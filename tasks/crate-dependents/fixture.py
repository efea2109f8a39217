"""Crates that depend on vox-wire in every way Cargo knows, and crates that only look like it.

An odd number of dependents in odd worlds, an even one in even worlds.
"""

NAMES = (
    "atlas beacon courier foundry gateway harbor lantern ledger notary outpost prism quarry relaykit shuttle signal "
    "steward tracker vault"
)
SECTIONS = (
    "dependencies",
    "build-dependencies",
    "target.'cfg(unix)'.dependencies",
    "target.'cfg(windows)'.dependencies",
)


def extend(builder, rng):
    names = iter(f"vox-{name}" for name in rng.shuffled(NAMES.split()))
    plain = ['serde = { workspace = true, features = ["derive"] }', "anyhow.workspace = true"]

    def crate(tables, folder=None, features=""):
        """A crate with these tables; returns the package's name."""
        name = next(names)
        tables = {"dependencies": [], **tables}
        tables["dependencies"] = rng.shuffled([*plain, *tables["dependencies"]])
        _write(builder, folder or name, name, tables, features)
        return name

    def inline(name):
        return f'{name} = {{ path = "../{name}" }}'

    def dotted(name):
        return f"{name}.workspace = true"

    def renamed(name):
        return f'{name.removeprefix("vox-")}_api = {{ package = "{name}", path = "../{name}" }}'

    def through(name):
        """Tables that hold one dependency, in a drawn way."""
        if rng.chance(25):
            return {f"dependencies.{name}": [f'path = "../{name}"']}
        return {rng.pick(SECTIONS[:3]): [rng.pick((inline, dotted, renamed))(name)]}

    _write(builder, "vox-wire", "vox-wire", {"dependencies": plain}, "")
    _write(builder, "vox-wire-macros", "vox-wire-macros", {"dependencies": ['syn = "2"']}, "")
    ways = [crate({"dependencies": [way("vox-wire")]}) for way in (inline, dotted, renamed)]
    ways.append(
        crate({"dependencies.vox-wire": ['path = "../vox-wire"', "default-features = false"]})
    )
    ways.append(crate({rng.pick(SECTIONS[2:]): [rng.pick((inline, dotted))("vox-wire")]}))
    ways.append(crate({"build-dependencies": [rng.pick((inline, dotted))("vox-wire")]}))
    first, second, third, *_ = rng.shuffled(ways)
    # The folder of the middle of a chain of three is not named like the package.
    middle = crate(
        through(first), folder=f"{rng.pick(('core', 'shared', 'legacy'))}-{rng.between(2, 9)}"
    )
    crate(through(middle))
    crate({"dependencies": [dotted(third)], "build-dependencies": [inline(second)]})
    for _ in range(rng.pick((0, 2) if builder.odd else (1,))):
        crate(through(third))
    # What only tests need does not count, nor what depends on it.
    tested = crate({"dev-dependencies": [rng.pick((inline, dotted))("vox-wire")]})
    crate({"dependencies": [inline(tested)], "dev-dependencies": [dotted(first)]})
    crate({"dependencies": ["# " + inline("vox-wire"), inline("vox-wire-macros")]})
    crate({"dependencies": ["#" + dotted("vox-wire")]}, features='vox-wire = ["dep:serde"]\n')


def _write(builder, folder, name, tables, features):
    about = "description = 'Writes name = \"demo\" into manifests'"
    lines = [
        "[package]",
        f'name = "{name}"',
        about,
        "version.workspace = true",
        "edition.workspace = true",
        "",
    ]
    lines += ["[features]", features] if features else []
    for table, content in tables.items():
        lines += [f"[{table}]", *content, ""]
    builder.file(f"crates/{folder}/Cargo.toml", "\n".join(lines))
    builder.file(f"crates/{folder}/src/lib.rs", f"//! {name}\n")
