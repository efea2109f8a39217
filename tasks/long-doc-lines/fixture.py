"""Pages with lines of 100 and 101 characters, counted in every way but the right one they are more
or fewer.

An odd number of long lines in odd worlds, an even one in even worlds.
"""

WORDS = "the queue keeps every lease until a worker takes it and each shard reports its own depth to the mesh"
UMLAUTS = ("für", "größer", "über", "Schlüssel", "Änderung", "naïve")
BEYOND = ("\N{ROCKET}", "\N{HONEYBEE}", "\N{MUSICAL SYMBOL G CLEF}", "\N{PACKAGE}")
COMBINING = (
    "e\N{COMBINING ACUTE ACCENT}te\N{COMBINING ACUTE ACCENT}",
    "n\N{COMBINING TILDE}o",
    "u\N{COMBINING DIAERESIS}ber",
)
MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


def extend(builder, rng):
    def line(length, special=()):
        """Text of that many code points with some of the special words."""
        words = [rng.pick(WORDS.split())]
        while len(" ".join(words)) < length - 12:
            words.append(rng.pick(special if special and len(words) % 2 else WORDS.split()))
        text = " ".join(words)
        return text + " " + "x" * (length - len(text) - 1)

    def page(path, *lines, end="\n", text_end="\n", start=""):
        """A page that begins with the first line and has the others among short ones."""
        short = [line(rng.between(30, 90)) for _ in range(rng.between(5, 12))]
        body = [lines[0], "", *rng.shuffled([*lines[1:], *short])]
        text = start + end.join(body) + text_end
        builder.file(f"docs/{path}", text.encode(), crlf=end == "\r\n")

    edge = (100, 101)
    extra = [
        line(rng.between(102, 180)) for _ in range(rng.pick((2, 4) if builder.odd else (1, 3)))
    ]
    page("handbook/limits.md", "# Limits", *map(line, edge), *extra)
    page("handbook/de/start.md", "# Über", *(line(length, UMLAUTS) for length in (*edge, 98, 99)))
    page("handbook/signs.md", "# Signs", *(line(length, BEYOND) for length in (*edge, 97)))
    page("handbook/fr/accents.md", "# Accents", *(line(length, COMBINING) for length in edge))
    page("windows/setup.md", "# Setup", *map(line, edge), end="\r\n", text_end="\r\n")
    page("windows/first.md", line(100), line(99), start=MARK)
    page("windows/second.md", line(101, UMLAUTS), line(100), start=MARK)
    path = f"{rng.pick(('', 'handbook/', 'adr/'))}release notes {rng.between(1, 9)}.md"
    page(path, "# Release notes", line(100), text_end="\n" + line(rng.between(101, 130)))
    page("handbook/raw.txt", line(150), line(101))
