"""A registry whose versions text, `sort -V` and file names put in other orders; nine packages in
odd worlds, ten in even ones."""

NAMES = (
    "amber",
    "basalt",
    "cobalt",
    "delta-log",
    "ember",
    "flint",
    "garnet",
    "iron-fs",
    "jasper",
    "kelp",
    "larch",
)


def extend(builder, rng):
    major, minor, patch = rng.between(1, 4), rng.between(2, 7), rng.between(0, 6)
    this, lower, higher = (
        f"{major}.{minor}.{patch}",
        f"{major}.{minor - 1}.{patch}",
        f"{major + 1}.0.0",
    )
    late = rng.between(10, 19)
    kinds = [
        [this, f"{this}-rc.{rng.between(1, 4)}", f"{this}-beta.2", lower],
        [f"{this}-rc.{rng.between(2, 9)}", f"{this}-rc.{late}", lower],
        [f"{this}-beta.{late}", f"{this}-rc.1", f"{this}-beta.2"],
        [f"{this}-alpha", f"{this}-alpha.{rng.between(1, 9)}"],
        [f"{major}.9.{patch}", f"{major}.{late}.0", f"{major}.{minor}.{late}"],
        [this, f"{higher}-alpha.{rng.between(1, 9)}", lower],
        [f"{this}+build.{rng.between(2, 99)}", lower, f"{this}-rc.1"],
        [f"0.{minor}.{late}", f"0.{minor}.9", f"0.{minor - 1}.{late + 1}"],
        [f"{higher}", f"{higher}-rc.{late}", f"{higher}-rc.9", this],
    ]
    if not builder.odd:
        kinds.append(
            [f"{this}-beta", f"{this}-alpha.{late}", f"{this}-beta.{rng.between(1, 9)}", lower]
        )
    for name, versions in zip(rng.sample(NAMES, len(kinds)), rng.shuffled(kinds), strict=True):
        for version in versions:
            builder.file(f"registry/{name}/{version}/vox.toml", f'name = "{name}"\n', any_name=True)
            builder.file(
                f"registry/{name}/{version}.sha256", f"{rng.below(10**9)}\n", any_name=True
            )
        builder.file(f"registry/{name}/index.json", "{}\n")
    builder.file("registry/README.md", "# Registry\n")
