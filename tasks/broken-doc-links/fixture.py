"""Pages full of sound links, a broken one here and there, and links in a file that is no page."""

import posixpath

PAGES = (
    "README.md",
    "reference/lexer.md",
    "reference/cli.md",
    "reference/errors.md",
    "reference/limits.md",
    "reference/api/http.md",
    "reference/api/events.md",
    "adr/0001-context.md",
    "adr/0002-queues.md",
    "adr/0003-locks.md",
    "guide/install.md",
    "guide/upgrade.md",
    "guide/faq.md",
    "guide/first run.md",
)
LINKED = PAGES[:-1]
IMAGES = ("guide/img/flow.png", "guide/img/setup.png")
NESTED = [page for page in PAGES if "/" in page]
TOPICS = ("roles", "hooks", "tokens", "quotas")


def extend(builder, rng):
    for image in IMAGES:
        builder.file(f"docs/src/{image}", rng.split(image).bytes(200))
    broken = _broken(builder, rng)
    sound = {page: [_sound(rng, page) for _ in range(rng.between(4, 5))] for page in PAGES}
    for page in PAGES:
        lines = [
            f"# {page.rsplit('/', 1)[-1].removesuffix('.md')}",
            "",
            "- [x] Read by two (at least).",
            "",
            "## notes",
            "",
        ]
        lines += rng.shuffled(_lines(rng, page, sound[page], broken[page]))
        # Every page ends with a folder, so that a check for files alone is wrong everywhere.
        folder = "guide" if page.startswith("adr/") else "adr"
        lines += [f"More [over there]({_relative(folder, page)}/) and [below](#notes).", ""]
        builder.file(f"docs/src/{page}", "\n".join(lines))
    builder.file(
        "docs/src/guide/links.txt", "An old [page](gone.md) and an old ![shot](img/gone.png).\n"
    )


def _relative(target, page):
    return posixpath.relpath(target, posixpath.dirname(page) or ".")


def _sound(rng, page):
    """A link that leads somewhere, as it stands in a page."""
    forms = (
        _page(rng, page),
        _page(rng, page, "#notes"),
        f"![a shot]({_relative(rng.pick(IMAGES), page)})",
    )
    return rng.pick(
        (*forms, "[the site](https://example.invalid/vox#top)", "[us](mailto:vox@example.invalid)")
    )


def _page(rng, page, fragment=""):
    target = rng.pick([other for other in LINKED if other != page])
    return f"[a page]({_relative(target, page)}{fragment})"


def _broken(builder, rng):
    """The broken links of each page with the way each is written: an odd number of them in odd
    worlds."""
    broken = {page: [] for page in PAGES}
    numbers = rng.shuffled(range(10, 99))

    def gone(page, extension="md"):
        folder = rng.pick(("adr", "guide", "reference"))
        return _relative(f"{folder}/{rng.pick(TOPICS)}-{numbers.pop()}.{extension}", page)

    for kind in (
        "plain",
        "fragment",
        "first",
        "last",
        *rng.sample(("plain", "fragment"), builder.odd),
    ):
        page = rng.pick(NESTED)
        broken[page].append((kind, gone(page)))
    # One page on each level but the middle one, which the ways above may all have met.
    broken["README.md"].append((rng.pick(("plain", "fragment")), gone("README.md")))
    deep = f"reference/api/{rng.pick(('http', 'events'))}.md"
    broken[deep].append((rng.pick(("first", "last")), gone(deep)))
    page = rng.pick(NESTED)
    broken[page].append(("image", gone(page, "png")))
    broken["guide/first run.md"].append(("plain", rng.pick(("Install.md", "Upgrade.md", "FAQ.md"))))
    page = rng.pick(NESTED)
    broken[page].append(("plain", f"docs/src/{rng.pick(LINKED)}"))
    page = rng.pick(NESTED)
    broken[page].append(("plain", rng.pick([other for other in LINKED if "/" in other])))
    return broken


def _lines(rng, page, sound, broken):
    lines = [f"See {link} for more." for link in sound[2:]]
    lines.append(f"Both {sound[0]} and {sound[1]} help.")
    for kind, target in broken:
        other = "[the top](#notes)" if kind == "plain" else "[home](https://example.invalid/)"
        lines += {
            "plain": [f"Read [this]({target}) first."],
            "fragment": [f"Read [that part]({target}#notes) first."],
            "image": [f"![a picture]({target})"],
            "first": [f"Either [this]({target}) or {_page(rng, page)}."],
            "last": [f"Either {_page(rng, page)} or [this]({target})."],
        }[kind]
        lines.append(f"Back to {other}.")
    return lines
