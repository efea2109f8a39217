"""Processes that claim ports of four reservations, and more that seem to; the free ports' sum has
the seed's parity."""

from fluency.world import HelperSpec

HOSTS = ("127.0.0.1", "0.0.0.0", "localhost", "[::1]", "[fe80::7]")
PROGRAMS = ("vox-edge", "mesh-agent", "relayd", "batch-run")


def extend(builder, rng):
    def claim(port, form):
        host = f"{rng.pick(HOSTS)}:{port}"
        return [
            (f"--port={port}",),
            ("--port", f"{port}"),
            (f"--listen={host}",),
            ("--listen", host),
        ][form % 4]

    # How many ports at the start of each reservation are claimed: none, two, four or more.
    taken = [0, 2, 3 + builder.odd, 4]
    starts = (8210, 8240, 8410, 9050)
    names = rng.sample(("audit", "edge", "ledger", "mesh", "search"), 4)
    claims, free = [], []
    for start, count in zip(starts, taken, strict=True):
        later = rng.sample(range(start + count + 1, start + 12), 2)
        claims += [*range(start, start + count), *later]
        free.append(start + count)
    arguments = [claim(port, form) for form, port in enumerate(rng.shuffled(claims))]
    # Ports of five digits that end in a free one.
    arguments += [claim(int(f"1{port}"), form) for form, port in enumerate(free)]
    # What only looks like a claim of a free port.
    for port in free:
        arguments += [
            (f"--peer-port={port}",),
            ("--ports", f"{port}"),
            ("--port-file", f"{port}"),
            ("--note", f"was --port={port} before"),
            ("--note", f"as with --port={port}"),
            ("--label=without --port", f"{port}"),
            (f"--title=as with --listen {rng.pick(HOSTS)}:{port}",),
            (f"--listen=[fe80::{port}]:{rng.between(9900, 9999)}",),
        ]
    arguments = rng.shuffled(arguments)
    size = -(-len(arguments) // 11)
    for number in range(0, len(arguments), size):
        flat = [arg for group in arguments[number : number + size] for arg in group]
        shard = f"--shard={rng.between(1, 30)}"
        program = rng.pick(PROGRAMS)
        builder.process(HelperSpec(f"claims-{number}", program, ("--quiet", *flat, shard)))
    rows = [f"{name},{start},{start + 15}\n" for name, start in zip(names, starts, strict=True)]
    builder.file("ops/ports.csv", "".join(rng.shuffled(rows)))
