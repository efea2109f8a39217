"""Ten packages with every way to declare a binary; an odd number of binaries in odd worlds, an even
one in even ones."""

NAMES = "audit bench bundle codegen deploy doctor export fuzz lint migrate pack trace"
BINARIES = (
    "apply check collect convert dump fetch format index inspect list merge plan probe prune query render replay scan "
    "seed serve sign split stat sync verify watch"
)
ABOUT = 'description = \'Reads name = "demo" and path = "src/main.rs"\'\n'
MAIN = "fn main() {}\n"


def extend(builder, rng):
    names = iter(rng.shuffled(NAMES.split()))
    binaries = iter(rng.shuffled(BINARIES.split()))

    def package(tables, *sources, folder=None, before="", package_keys=""):
        name = next(names)
        folder = f"tools/{folder or name}"
        head = f'[package]\nkeywords = ["cli"]\nname = "vox-{name}"\n{ABOUT}edition = "2024"\n{package_keys}'
        manifest = "\n".join(
            part for part in (before, head, *tables, '[dependencies]\nanyhow = "1"\n') if part
        )
        builder.file(f"{folder}/Cargo.toml", manifest)
        for source in sources:
            builder.file(
                f"{folder}/{source}",
                MAIN if "main.rs" in source or "bin/" in source else "// helpers\n",
            )

    def table(name, path=None, kind="[[bin]]"):
        return f'{kind}\nname = "{name}"\n' + (f'path = "{path}"\n' if path else "")

    def several(count):
        return [next(binaries) for _ in range(count)]

    package(
        [],
        "src/main.rs",
        "src/args.rs",
        folder=f"{rng.pick(('next', 'old', 'internal'))}-{rng.between(2, 9)}",
    )
    # The other packages have twelve.
    files = several(rng.pick((1, 3) if builder.odd else (2, 4)))
    package(
        [],
        "src/lib.rs",
        *(f"src/bin/{name}.rs" for name in files),
        "examples/demo.rs",
        "tests/cli.rs",
    )
    folders = several(2)
    inside = [
        f"src/bin/{name}/{file}.rs"
        for name in folders
        for file in ("main", rng.pick(("args", "output")))
    ]
    package([], "src/main.rs", *inside, "src/bin/common/mod.rs")
    package([table("vox_core", kind="[lib]")], "src/lib.rs", "src/server/main.rs")
    renamed, moved, given, own, hidden = several(5)
    package([table(renamed, "src/main.rs")], "src/main.rs", "src/lib.rs")
    elsewhere = rng.pick(("cmd", "src/entry", "src/tool"))
    package([table(moved, f"{elsewhere}/{moved}.rs")], "src/main.rs", f"{elsewhere}/{moved}.rs")
    package(
        [table(given, rng.pick((None, f"src/bin/{given}.rs")))], "src/lib.rs", f"src/bin/{given}.rs"
    )
    only = [table(own, f"src/bin/{own}.rs")]
    more = ("src/main.rs", "src/lib.rs", f"src/bin/{own}.rs", f"src/bin/{hidden}.rs")
    package(only, *more, package_keys="autobins = false\n")
    library, example = next(binaries), next(binaries)
    first = table(f"vox_{library}", "src/lib.rs", kind="[lib]")
    tables = [table(example, f"examples/{example}.rs", kind="[[example]]")]
    package(tables, "src/lib.rs", "src/main.rs", f"examples/{example}.rs", before=first)
    # A table that changes one binary and leaves the others to be found.
    one, other = several(2)
    package(
        [table(one, f"src/bin/{other}.rs")], "src/main.rs", f"src/bin/{other}.rs", "src/cli/main.rs"
    )
