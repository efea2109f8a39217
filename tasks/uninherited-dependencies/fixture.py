"""A root table and crates with every way to inherit; an odd number of entries is not inherited in
odd worlds."""

import re

# The first of three is inherited; the others are how its name begins and ends.
FAMILIES = (
    ("prost-build", "prost", "build"),
    ("http-body", "http", "body"),
    ("hyper-rustls", "hyper", "rustls"),
)
NAMES = (
    "arc-swap", "backoff", "bstr", "camino", "dashmap", "either", "fs2", "globset", "heck", "humantime", "ignore",
    "indicatif", "lazy_static", "libc", "memchr", "nix", "notify", "once_cell", "parking_lot", "quote", "rand", "rayon",
    "regex", "semver", "sha2", "smallvec", "tracing-log", "url", "walkdir", "zstd",
)  # fmt: skip


def extend(builder, rng):
    texts = [
        builder.files[path].decode()
        for path in builder.files
        if re.fullmatch(r"crates/[^/]+/Cargo.toml", path)
    ]
    used = re.findall(r"(?m)^([\w-]+)(?:\.| = \{ *)workspace = true", "\n".join(texts))
    known = sorted(set(used) - {"version", "edition", "license"})
    taken = {name.lower() for name in known}
    names = iter([name for name in rng.shuffled(NAMES) if name not in taken])
    whole, begin, end = rng.pick(FAMILIES)
    dotted, first, last, tight, table, unix, windows, build, dev, extra = (
        next(names) for _ in range(10)
    )
    own, commented, deeper, unused, apart, trailing = (next(names) for _ in range(6))
    crates = [
        f'[dependencies]\n{dotted}.workspace = true\n{whole}.workspace = true\n{own} = "{rng.between(1, 9)}.1"\n',
        f'[dependencies]\n{first} = {{ workspace = true, features = ["std"] }}\n{own} = {{ version = "2", optional = true }}\n',
        f"[dependencies]\n{last} = {{ optional = true, workspace = true }}\n{tight}={{workspace=true}}\n",
        f'[dependencies.{table}]\nfeatures = ["std"]\nworkspace = true\n\n[lints]\nworkspace = true\n',
        f"[target.'cfg(unix)'.dependencies]\n{unix} = {{ workspace = true }}\n\n"
        f"[target.'cfg(windows)'.dependencies.{windows}]\nworkspace = true\n",
        f"[build-dependencies]\n{build}.workspace = true\n\n[dev-dependencies]\n{dev} = {{ workspace = true }}\n",
        f"[dependencies]\n# {commented}.workspace = true\n# {commented} = {{ workspace = true }}\n"
        f'{trailing} = "1" # no longer workspace = true\n{extra}.workspace = true\n',
    ]
    folders = [
        f"crates/vox-{word}"
        for word in rng.sample(("ash", "elm", "fir", "ivy", "oak", "pine", "yew"), 7)
    ]
    for folder, text in zip(folders, crates, strict=True):
        head = f'[package]\nname = "{folder[7:]}"\nversion.workspace = true\nedition.workspace = true\n\n'
        builder.file(f"{folder}/Cargo.toml", head + text)
    fuzz = f'[package]\nname = "fuzz"\nversion = "0.0.1"\n\n[dependencies]\n{deeper}.workspace = true\n'
    builder.file(f"{folders[0]}/fuzz/Cargo.toml", fuzz)
    missing = [own, commented, deeper, unused, trailing, begin, end]
    missing += [next(names) for _ in range(rng.pick((1, 3) if builder.odd else (0, 2)))]
    entries = []
    for name in rng.shuffled(
        [*known, whole, dotted, first, last, tight, unix, windows, build, dev, extra, *missing]
    ):
        version = f'"{rng.between(0, 9)}.{rng.between(1, 30)}"'
        entries.append(
            f"{name} = "
            + (f'{{ version = {version}, features = ["std"] }}' if rng.chance(40) else version)
        )
    root = builder.files["Cargo.toml"].decode()
    root = (
        root[: root.index("[workspace.dependencies]")]
        + "[workspace.dependencies]\n"
        + "\n".join(entries)
        + "\n\n"
    )
    for name in rng.shuffled((table, apart)):
        root += f'[workspace.dependencies.{name}]\nversion = "1"\ndefault-features = false\n\n'
    root += '[workspace.lints.rust]\nunsafe_code = "forbid"\n\n[profile.release]\nlto = "thin"\ncodegen-units = 1\n'
    builder.files["Cargo.toml"] = root.encode()
