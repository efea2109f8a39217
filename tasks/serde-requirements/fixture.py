"""Ten crates with every way to depend on serde; the version that is inherited is odd in odd worlds,
even in even ones.

One more, the last of crates/, depends on it, so that a loop that ends in a test ends with status 0.
"""

NAMES = (
    "alpha",
    "bridge",
    "cargo",
    "delta",
    "ember",
    "flint",
    "grove",
    "harbor",
    "inlet",
    "juniper",
    "kestrel",
    "lumen",
)


def extend(builder, rng):
    inherited = f"1.0.{2 * rng.between(90, 110) + builder.odd}"
    entry = f'serde = {{ version = "{inherited}", features = ["derive"] }}'
    other = f'rmp-serde = {{ version = "1.3.{rng.between(1, 40)}" }}'
    root = builder.files["Cargo.toml"].decode().replace('\nserde = "1"\n', f"\n{entry}\n{other}\n")
    builder.files["Cargo.toml"] = root.encode()

    def version():
        return f"{rng.pick(('', '', '^', '=', '~'))}1.0.{rng.between(10, 179)}"

    def own():
        return f'"{version()}"'

    plain = 'anyhow = "1"'
    dev, build = (f"[{kind}-dependencies]\nserde = {{own}}\n" for kind in ("dev", "build"))
    ranged = f'">=1.0.{rng.between(20, 90)}, <1.0.{rng.between(200, 250)}"'
    manifests = [
        f"[dependencies]\n{plain}\nserde = {own()}\n\n{dev}",
        f"[dependencies]\nserde={own()}\n{other}\n",
        f'{build}\n[dependencies]\nserde = {{{{ version = {own()}, features = ["derive"] }}}}\n',
        f'[dependencies]\nserde = {{{{ default-features = false, features = ["rc"], version = {own()} }}}}\n\n{dev}',
        f'{dev}\n[dependencies]\n{plain}\n\n[dependencies.serde]\nfeatures = ["derive"]\nversion = {own()}\n',
        f"{rng.pick((_INLINE, _DOTTED, _TABLE))}\n{dev}",
        f'[dependencies]\nserde.version = {own()}\nserde.features = ["derive"]\n{plain}\n',
        f"[dependencies]\nserde = {ranged}\n\n{build}",
        # No normal dependency: only another kind of table, another crate, a comment, a feature.
        f'[features]\nserde = ["std"]\nstd = []\n\n[dependencies]\n# serde = {own()}\n{other}\n\n{dev}\n{build}',
        f"[dependencies.serde_json]\nversion = {own()}\n\n[dev-dependencies.serde]\nversion = {own()}\n",
    ]
    names = rng.sample(NAMES, 10)
    for place, (name, text) in enumerate(zip(names, manifests, strict=True)):
        # Three packages are not named like their folder.
        package = f"vox-{name}-{rng.pick(('core', 'kit'))}" if place in (1, 4, 7) else f"vox-{name}"
        head = (
            f'[package]\nname = "{package}"\nversion.workspace = true\nedition.workspace = true\n\n'
        )
        library = f'[lib]\nname = "vox_{name}"\n\n' if rng.chance(50) else ""
        body = text.replace("{own}", own()).replace("{{", "{").replace("}}", "}")
        builder.file(f"crates/vox-{name}/Cargo.toml", head + library + body)
    last = (
        f'[package]\nname = "xtask"\nversion.workspace = true\n\n[dependencies]\nserde = {own()}\n'
    )
    builder.file("crates/xtask/Cargo.toml", last)


_INLINE = '[dependencies]\nserde = {{ workspace = true, features = ["rc"] }}\n'
_DOTTED = "[dependencies]\nserde.workspace = true\n"
_TABLE = "[dependencies.serde]\nworkspace = true\n"
