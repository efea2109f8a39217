"""Imports with invalid UTF-8 in some lines and unusual but valid text in others.

No line feed stands in the place of a sequence's next byte: Bash's `read` would take it for a part
of the line.

An odd number of invalid lines in odd worlds, an even one in even worlds.
"""

FOLDERS = ("data/import", "data/import/2026/04", "data/import/legacy")
LATIN = ("Müller", "Café", "Señor", "Göteborg", "Århus", "Besançon")
SOUND = (
    "Düsseldorf, Straße 7",
    "naïve façade",
    "rocket \N{ROCKET} launched",
    "clef \N{MUSICAL SYMBOL G CLEF} and note",
    "lost \N{REPLACEMENT CHARACTER} sign",
    "日本語の行",
    "€ 12,50",
)
OVERLONG = (b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xc1\xbf")
SURROGATES = (b"\xed\xa0\x80", b"\xed\xb3\xbf", b"\xed\xa0\xbd\xed\xb8\x80")
NEVER = (b"\xff", b"\xfe\xff", b"\xf5", b"\xfd")
CUT = (b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98")


def extend(builder, rng):
    number = rng.between(100, 899)

    def latin():
        return rng.pick(LATIN).encode("latin-1") + b" & Co"

    def cut():
        return b"amount " + rng.pick(CUT) + b" EUR"

    files = {
        "customers.csv": [latin(), latin(), rng.pick(LATIN).encode()],
        "orders.csv": [cut(), b"x" + rng.pick(OVERLONG) + b"y"],
        "notes 2026.txt": [
            rng.pick(SURROGATES) + b"!",
            *(latin() for _ in range(rng.pick((1, 3) if builder.odd else (2, 4)))),
        ],
        "events.log": [
            b"code " + rng.pick(NEVER) + b".",
            rng.pick(OVERLONG) + b" twice " + rng.pick(NEVER) + b".",
        ],
        "blob.dat": [b"key\0value " + rng.pick(SOUND).encode(), rng.pick(NEVER) + b"tail"],
        "stock.tsv": [cut()],
        "prices.csv": [],
        "cities.txt": [],
    }
    for name, special in files.items():
        sound = [text.encode() for text in rng.sample(SOUND, rng.between(3, 5))]
        plain = [f"row {number + row}: ok".encode() for row in range(rng.between(8, 16))]
        lines = rng.shuffled([*special, *sound, *plain])
        text = b"\n".join(lines) + b"\n"
        if name in ("prices.csv", "events.log"):
            text = b"\xef\xbb\xbf" + text
        if name == "stock.tsv":  # the end of the file cuts a sequence off
            text += b"last " + rng.pick(CUT)
        if name == "cities.txt":
            text += SOUND[4].encode()
        builder.file(f"{rng.pick(FOLDERS)}/{name}", text)
