"""Terms that need encoding, and totals that are odd in odd worlds and even in even ones."""

import json

from fluency.world import When

PLAIN = ("vector index", "lane scheduler", "token budget")
KINDS = (
    ("a+b overflow", "C++ bindings", "lsp +inlay hints"),
    ("50% quota", "100%25 escaped", "p95 %latency"),
    ("#[derive] macro", "#pragma once", "issue #214"),
    ("C:\\new\\vox", "regex \\d+ escape", "path\\to\\tools"),
    ('say "ready"', 'the "main" lane', '"exact phrase" match'),
    ("a=b=c", "mode=fast cache", "retries=3 default"),
    ("panic? maybe", "who owns this?", "Option?Result chain"),
)
AMPERSANDS = ("retry & backoff", "build & release", "R&D notes")


def extend(builder, rng):
    terms = [*rng.shuffled([rng.pick(PLAIN), *map(rng.pick, KINDS)]), rng.pick(AMPERSANDS)]
    builder.file("ops/search-terms.txt", "\n".join(terms))
    totals = [2 * half + builder.odd for half in rng.sample(range(1_000, 45_000), len(terms) + 1)]
    for term, total in zip(terms, totals[1:], strict=True):
        _answer(builder, rng, total, When(query={"q": term}))
    _answer(builder, rng, totals[0], When())


def _answer(builder, rng, total, when):
    body = json.dumps({"total": total, "took_ms": rng.between(3, 19)}).encode()
    builder.route("/api/search", 200, {"Content-Type": "application/json"}, body, when=when)
