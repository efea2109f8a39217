"""The loopback service and the named processes of a world."""

import itertools
import json
from typing import Any

from fluency.world.builder import Builder
from fluency.world.model import HelperSpec
from fluency.world.rng import NAMES

_HELPERS = "/opt/fluency/helpers"


def add_service(b: Builder) -> None:
    """Crates as JSON, a download behind a redirect, four status paths."""
    rng = b.rng.split("service")
    _crates(b)
    body = f"vox {b.seed}\n".encode() + rng.bytes(rng.between(20_000, 60_000))
    target = f"/dl/store/{rng.bytes(6).hex()}/vox.bin"
    page = f'<html><body>Moved to <a href="{target}">the store</a>.</body></html>\n'.encode()
    b.route("/dl/vox-latest.bin", 302, {"Content-Type": "text/html", "Location": target}, page)
    b.route(target, 200, {"Content-Type": "application/octet-stream"}, body)
    _probes(b)


def _crates(b: Builder) -> None:
    """14 crates, downloads of 3 to 7 digits.

    The top one is yanked, the best of the others differs by parity and is neither first nor last.
    """
    rng = b.rng.split("crates-api")
    known = sorted(f"{NAMES['always']} {NAMES['others']}".split())
    best = rng.pick(known[b.odd :: 2])
    names = [best, *rng.sample([name for name in known if name != best], 13)]
    ranges = [(700, 1300), (300, 690), (110, 290), (40, 99), *[(1, 30)] * 8]
    downloads = [1000 * rng.between(*span) + rng.below(1000) for span in ranges]
    downloads += [rng.between(900, 990), 2_000_000 - rng.below(1000)]
    yanked = {6, 9, 13, 2} if rng.chance(70) else {6, 9, 13}
    crates: list[dict[str, Any]] = [
        {
            "name": name,
            "max_version": f"{rng.below(2)}.{rng.below(12)}.{rng.below(9)}",
            "downloads": count,
            "yanked": number in yanked,
        }
        for number, (name, count) in enumerate(zip(names, downloads, strict=True))
    ]
    served = rng.shuffled(crates)
    document = {"crates": served, "total": len(served)}
    b.route("/api/crates", 200, {"Content-Type": "application/json"}, json.dumps(document).encode())
    b.require(len(set(downloads)) == len(downloads), "crates with distinct downloads")
    kept = [crate["downloads"] for crate in served if not crate["yanked"]]
    b.require(max(kept[1:-1]) == max(kept), "the best of the crates is neither first nor last")


def _probes(b: Builder) -> None:
    """Four statuses; no odd and no even world share all of them, readyz is never 200."""
    rng = b.rng.split("probes")
    choices = {"/healthz": (200, 204), "/readyz": (500, 503, 429)}
    choices |= {"/v1/models": (200, 401, 403), "/v1/missing": (404, 410)}
    drawn = [1 - b.odd]
    while sum(drawn) % 2 != b.odd:
        drawn = [rng.below(len(codes)) for codes in choices.values()]
    for (path, codes), number in zip(choices.items(), drawn, strict=True):
        status = codes[number]
        body = b"" if status == 204 else json.dumps({"status": status}).encode()
        b.route(path, status, {"Content-Type": "application/json"} if body else {}, body)


def add_processes(b: Builder) -> None:
    """Workers, and what looks like them; a scheduler with children and a grandchild.

    One process has much memory.
    """
    rng = b.rng.split("processes")
    workers = 3 if b.odd else rng.pick((2, 4))
    queues = rng.sample(NAMES["queues"].split(), workers)
    program = ("--program", f"{_HELPERS}/vox-worker", "--slots", str(workers))
    scheduled = [
        HelperSpec(f"worker-{n}", "vox-worker", ("--queue", queues[n]), "sched")
        for n in range(1, workers)
    ]
    tops = [
        [HelperSpec("gc", "vox-worker-gc", ("--queue", "shadow"))],
        [HelperSpec("watchd", "vox-watchd", ("--watch", "vox-worker"), virt_mb=3000)],
        [HelperSpec("worker-0", "vox-worker", ("--queue", queues[0]))],
        [
            HelperSpec("sched", "vox-sched", program),
            *scheduled,
            HelperSpec("relay", "vox-relay", ("--port", str(rng.between(7000, 7999))), "sched"),
            HelperSpec("lspd", "vox-lspd", ("--stdio",), "relay"),
        ],
    ]

    heavy = rng.pick(("vox-meshd", "vox-index")) if b.odd else "vox-embedd"
    light = [name for name in ("vox-meshd", "vox-index", "vox-embedd") if name != heavy]
    tops += [[HelperSpec(one, one, ("--serve",), rss_mb=rng.between(4, 28))] for one in light]
    order = rng.shuffled(tops)
    top = HelperSpec(heavy, heavy, ("--serve",), rss_mb=90)
    order.insert(rng.between(1, len(order) - 1), [top])
    cache = HelperSpec("cache", "ml-vox-cache", ("--serve",), rss_mb=150)
    order.insert(rng.between(0, len(order)), [cache])
    for helper in itertools.chain.from_iterable(order):
        b.process(helper)
