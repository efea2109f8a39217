"""Build folders of two to five digits of bytes, some of them in hidden files; one without a
file."""

FILES = {
    "debug": (
        "vox",
        "deps/libvox.rlib",
        "build/vox db/out.txt",
        ".fingerprint/vox-db/lib",
        ".lock",
    ),
    "release": ("vox", "deps/libvox.rlib", ".fingerprint/vox-db/lib"),
    "wasm32 unknown": ("release/vox.wasm", "release/deps/vox_ui.wasm", ".lock"),
    "doc": ("index.html", "vox/struct.World.html", ".nojekyll"),
    "package": ("vox-0.5.0.crate", "vox-db-0.5.0/Cargo.toml"),
    "criterion": ("report.txt", "embed/.base"),
}


def extend(builder, rng):
    large = [rng.between(24_000, 29_000), rng.between(50_000, 68_000)]
    debug, wasm = rng.shuffled(large)
    # The parity of one size is the seed's.
    sizes = {
        "debug": debug - debug % 2 + builder.odd,
        "release": rng.between(12_000, 19_000),
        "wasm32 unknown": wasm,
        "doc": rng.between(3000, 8000),
        "package": rng.between(500, 899),
        "criterion": rng.between(71, 99),
    }
    for folder, names in FILES.items():
        left = sizes[folder]
        for number, name in enumerate(reversed(names)):
            size = left if number == len(names) - 1 else rng.between(left // 10, left // 3)
            left -= size
            builder.file(f"target/{folder}/{name}", "x" * size)
    builder.folder("target/tmp/incremental")
    builder.folder("target/tmp/.cache")
    builder.file("target/.rustc_info.json", "{}\n" * rng.between(10, 90))
    builder.file("target/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
