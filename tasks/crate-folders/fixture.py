"""A crate more than the base world has, of one name in odd worlds and another in even ones."""


def extend(builder, rng):
    name = "bench" if builder.odd else "fuzz"
    manifest = f'[package]\nname = "{name}"\nversion.workspace = true\n'
    builder.file(f"crates/{name}/Cargo.toml", manifest)
    builder.file("crates/notes.md", f"{rng.below(1000)}\n")
    builder.file("crates/order.txt", f"{rng.below(1000)}\n")
