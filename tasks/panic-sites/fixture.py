"""A log of panics with backtraces, of failed requests with frames of their own, and of single
lines."""

FILES = ("peer.rs", "pool.rs", "queue.rs", "util.rs")
RUSTC = "/rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library"


def extend(builder, rng):
    crates = rng.sample(
        sorted({p.split("/")[1] for p in builder.files if p.startswith("crates/vox-")}), 4
    )
    paths = [f"crates/{crate}/src/{rng.pick(FILES)}" for crate in crates]
    line = rng.between(16, 40)
    sites = [f"{paths[0]}:{line}", f"{paths[0]}:{line}{rng.below(10)}"]
    sites += [f"{path}:{rng.between(41, 390)}" for path in paths[1:]]
    counts = [rng.between(1, 6) for _ in sites]
    # The number of panics that have a site is odd in odd worlds and even in even ones.
    if sum(counts) % 2 != builder.odd:
        counts[0] += 1 if counts[0] < 6 else -1
    wanted = rng.shuffled(
        [site for site, count in zip(sites, counts, strict=True) for _ in range(count)]
    )
    groups = [[_panic(rng, site, number)] for number, site in enumerate(wanted)]
    groups += [[_panic(rng, None, 1)], [_panic(rng, None, 2)]]
    # What begins with a panic without a frame of ours goes on with frames of another record.
    groups += [
        [_panic(rng, None, 3), _failed(rng, sites[2])],
        [_failed(rng, sites[0])],
        [_failed(rng, paths[3] + ":7")],
    ]
    groups += [
        [[f"{_stamp(rng)} INFO worker {number} panicked 2 times and was restarted"]]
        for number in (3, 8)
    ]
    records = [record for group in rng.shuffled(groups) for record in group]
    builder.file("logs/panics.log", "\n\n".join("\n".join(record) for record in records) + "\n")


def _stamp(rng):
    return f"2026-05-14T{rng.between(8, 17):02d}:{rng.below(60):02d}:{rng.below(60):02d}Z"


def _panic(rng, site, number):
    """A panic that starts in a library if its number is odd or it has no site; columns with every
    digit occur."""
    own = f"{site}:{(10, 29, 5, 38, 47, 16)[number % 6]}" if site else None
    place = (
        f"{RUSTC}/core/src/option.rs:{rng.between(900, 2100)}:5" if number % 2 or not own else own
    )
    said = (
        "no entry at ./crates/vox-db/src/lib.rs:3:4"
        if number % 3 == 1
        else "called `Option::unwrap()` on `None`"
    )
    lines = [
        f"{_stamp(rng)} ERROR job {rng.between(1000, 9999)} was aborted",
        f"thread 'vox-worker-{rng.below(9)}' panicked at {place}:",
        said,
        "stack backtrace:",
        "   0: rust_begin_unwind",
        f"             at {RUSTC}/std/src/panicking.rs:665:5",
        "   1: tokio::runtime::task::poll",
        "             at /root/.cargo/registry/src/index/tokio-1.38.0/src/runtime/task/core.rs:331:17",
    ]
    if own:
        lines += ["   2: vox::step", f"             at ./{own}"]
        lines += [
            "   3: vox_cli::main",
            f"             at ./crates/vox-cli/src/main.rs:41:{rng.between(5, 9)}",
        ]
    return lines


def _failed(rng, site):
    return [
        f"{_stamp(rng)} WARN request {rng.between(1000, 9999)} failed",
        "Caused by: thread 'main' panicked at /build/plugin.rs:9:1",
        f"             at ./{site}:{rng.between(5, 60)}",
        "             at ./crates/vox-cli/src/main.rs:41:5",
    ]
