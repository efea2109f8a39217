"""A build log of four crates: located warnings in eight files, one place of each crate twice, among
other places."""

FILES = ("lib.rs", "peer.rs", "pool.rs", "queue.rs", "util.rs", "gen/tables.rs")
WARNINGS = (
    "unused variable: `depth`",
    "unused import: `std::fmt`",
    "value assigned to `left` is never read",
    "field `lease` is never read",
)


def extend(builder, rng):
    crates = rng.sample(
        sorted({p.split("/")[1] for p in builder.files if p.startswith("crates/vox-")}), 4
    )
    paths = [[f"crates/{crate}/src/{name}" for name in rng.sample(FILES, 2)] for crate in crates]
    counts = [[rng.between(2, 5), rng.between(1, 4)] for _ in crates]
    # The number of located warnings is odd in odd worlds and even in even ones.
    counts[3][1] += sum(map(sum, counts)) % 2 != builder.odd
    lines = []
    for number, crate in enumerate(crates):
        (one, other), (many, few) = paths[number], counts[number]
        lines += [f"   Compiling {crate} v0.5.0 (/build/crates/{crate})"]
        # The first file has the first and the last warning, so that its warnings do not stand
        # together: one place twice.
        again = _located(rng, f"warning: {rng.pick(WARNINGS)}", one)
        lines += again
        for path in rng.shuffled([one] * (many - 2) + [other] * few):
            lines += _located(rng, f"warning: {rng.pick(WARNINGS)}", path)
            if rng.chance(35):
                lines[-1:] = _located(
                    rng, "note: the lint level is defined here", rng.pick((one, other))
                )
        lines += again
        total = f"{many + few} warnings"
        lines += [
            f"warning: `{crate}` (lib) generated {total}",
            *_located(rng, "error[E0308]: mismatched types", one),
            *_located(rng, "error: unused result, see warning: above", other),
            "warning: feature `tls` was renamed --> `rustls`: see Cargo.toml",
            f"warning: `{crate}` (lib test) generated {total} (1 duplicate)",
        ]
    lines += [
        "warning: build failed, waiting for other jobs to finish...",
        "error: could not compile the workspace",
    ]
    builder.file("logs/build.log", "\n".join(lines) + "\n")


def _located(rng, head, path):
    """A diagnosis with its place; the arrow is as far in as the line number is long."""
    line = rng.pick((rng.between(1, 9), rng.between(10, 99), rng.between(100, 999)))
    margin = " " * len(str(line))
    return [
        head,
        f"{margin}--> {path}:{line}:{rng.between(1, 60)}",
        f"{margin} |",
        f"{line} |     let depth = lease.left();",
        f"{margin} |         ^^^^^",
        "",
    ]
