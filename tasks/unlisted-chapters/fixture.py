"""A table of contents with every form of a link; seven pages are no chapters in odd worlds, eight
in even ones.

The last one by name is among them, for loops that end in a test.
"""

WORDS = (
    "anchors", "backup", "cluster", "debug", "editor", "filters", "groups", "hooks", "import", "journal", "keys",
    "limits", "metrics", "network", "output", "plugins", "queues", "restore", "search", "tokens", "units", "views",
    "workers", "zones",
)  # fmt: skip
FOLDERS = ("guide", "reference", "guide/advanced")


def extend(builder, rng):
    words = iter(rng.shuffled(WORDS))
    lines, pages = [], []

    def chapter(path, link=None, label=None, title=""):
        pages.append(path)
        label = label or path.rsplit("/", 1)[-1].removesuffix(".md").capitalize()
        dot = "./" if rng.chance(40) else ""
        lines.append(f"- [{label}]({link or dot + path}{title})")

    def page():
        return f"{rng.pick(FOLDERS)}/{next(words)}.md"

    chapter("introduction.md")
    for _ in range(9):
        chapter(page())
    for folder in ("guide", "reference"):
        blank = f"{folder}/{next(words)} and {next(words)}.md"
        chapter(blank, f"./{blank}".replace(" ", "%20") if folder == "guide" else f"<{blank}>")
    plus = f"reference/c++ {next(words)}.md"
    chapter(plus, plus.replace(" ", "%20").replace("+", "%2B"))
    chapter(f"guide/{next(words)}.md", title=f' "What {next(words)} are"')
    chapter(f"reference/{next(words)}.md", label=f"Names ({rng.pick(('old', 'short'))})")
    for label in ("README.md", "guide/notes.md of old"):
        chapter(page(), label=f"See {label}")
    namesake = f"advanced/{next(words)}.md"
    chapter(f"guide/{namesake}")
    short, long, another, alone = (page() for _ in range(4))
    others = [namesake, short, long, another, "guide/notes.md", "translations.md"]
    others += [f"{rng.pick(FOLDERS)}/summary.md"]
    others += [] if builder.odd else [alone]
    lines.insert(rng.between(2, 8), f"<!-- - [Gone]({short}) -->")
    several = ["<!--", f"- [Later]({long})", f"- [Much later]({another})", "-->"]
    at = rng.between(10, len(lines))
    lines[at:at] = [*several, f"- [Planned for {rng.between(2027, 2031)}]()"]
    for place in (9, 2):
        lines[place:place] = ["", f"# {rng.pick(('Usage', 'Internals', 'More'))}", ""]
    builder.file("docs/book/src/SUMMARY.md", "\n".join(["# Summary", "", *lines]) + "\n")
    for path in sorted({*pages, *others}):
        text = f"# {path}\n\nSee [the start](introduction.md).\n"
        builder.file(f"docs/book/src/{path}", text, any_name=True)
    builder.file("docs/book/src/guide/plan.txt", "Not a page.\n")
    builder.file("docs/book/book.toml", '[book]\ntitle = "Vox"\n')
