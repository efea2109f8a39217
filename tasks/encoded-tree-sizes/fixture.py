"""Nine files whose paths need encoding each in its own way; the sizes add up to an odd number in
odd worlds only."""

import json
from urllib.parse import quote

FOLDERS = ("docs", "docs/img", "notes", "notes/2026", "share/old")
WORDS = (
    "draft",
    "plan",
    "report",
    "sketch",
    "summary",
    "table",
    "review",
    "budget",
    "minutes",
    "outline",
)
LINES = ("Größe und Fläche", "naïve café", "— 12 € —", "plain words", "日本")
TEXT = {"Content-Type": "text/plain; charset=utf-8"}


def extend(builder, rng):
    folders = [rng.pick(FOLDERS) for _ in range(8)]
    words = rng.sample(WORDS, 8)
    number = rng.between(10, 99)
    names = [
        f"{words[0]} of may {number}.txt",
        f"{words[1]}#{number}.txt",
        f"{words[2]}?{number}.txt",
        f"{words[3]}-{number}%.txt",
        f"{words[4]}+{number}.txt",
        f"{words[5]}&{number}.txt",
        f"{words[6]}-{rng.pick('äöüéñ')}.txt",
        f"{words[7]}-{number}.txt",
    ]
    paths = [f"{folder}/{name}" for folder, name in zip(folders, names, strict=True)]
    paths.append(paths[0].replace(" ", "%20"))
    bodies = [_text(rng) for _ in range(len(paths) + 2)]
    while len({len(body) for body in bodies}) < len(bodies):
        bodies = [_text(rng) for _ in bodies]
    if sum(map(len, bodies[: len(paths)])) % 2 != builder.odd:
        bodies[0] += b"!" * (1 if len(bodies[0]) + 1 not in map(len, bodies) else 3)
    for path, body in zip(paths, bodies, strict=False):
        for spelling in _spellings(path):
            builder.route(f"/files/{spelling}", 200, TEXT, body)
    # What is left of two paths before # and ?.
    for path, body in zip(paths[1:3], bodies[-2:], strict=True):
        builder.route(f"/files/{path.partition('#')[0].partition('?')[0]}", 200, TEXT, body)
    index = json.dumps({"files": rng.shuffled(paths)}, ensure_ascii=False).encode()
    builder.route("/files/index.json", 200, {"Content-Type": "application/json"}, index)


def _text(rng):
    return "".join(
        f"{rng.pick(LINES)} {rng.below(1000)}\n" for _ in range(rng.between(2, 30))
    ).encode()


def _spellings(path):
    """The encoded forms of a path: with digits of either case, + and & encoded or not."""
    forms = {quote(path, safe="/" + free) for free in ("", "+&")}
    return sorted(forms | {_lower(form) for form in forms})


def _lower(form):
    first, *parts = form.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in parts)])
