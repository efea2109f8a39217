"""Pages of a manual whose links lead to headings that are, or are no longer, there.

An odd number of dead links in odd worlds, an even one in even worlds.
"""

PAGES = ("config", "deploy", "install", "queues", "upgrade")
PLAIN = (
    "Back Up First", "Choose a Region", "Clean Up", "Common Errors", "Exit Codes", "File Layout", "First Steps",
    "Known Limits", "Log Levels", "Metric Names", "Next Steps", "Quick Start", "Rolling Back", "Secret Stores", "Shutdown Order",
    "Time Zones", "Where To Get Help", "Worker Pools",
)  # fmt: skip
WORDS = ("Logs", "Traces", "Tokens", "Roles", "Shards", "Leases", "Drafts", "Events")
KEYS = ("max_jobs", "retry_after", "queue_size", "log_format", "cache_dir")
COMMANDS = ("vox run", "vox sync", "vox plan", "vox drain", "vox index")


def extend(builder, rng):
    topics = iter(rng.shuffled(PLAIN))
    words, keys, commands = (iter(rng.shuffled(kind)) for kind in (WORDS, KEYS, COMMANDS))
    # Of each page two plain headings, and of five others each kind on one page.
    plain = {page: [next(topics) for _ in range(2)] for page in PAGES}
    both = (next(words), next(words))
    version = f"{rng.pick((9, 19, 29))}.{rng.pick((0, 10, 20))}"
    special = [
        f"{both[0]} & {both[1]}",
        f"Upgrading to {version}: what's new?",
        f"The `{next(commands)}` command",
        f"Setting {next(keys)}",
        f"Re-indexing {next(words)}",
    ]
    places = dict(zip(rng.shuffled(PAGES), special, strict=True))
    ampersand, question = (
        next(page for page, text in places.items() if text == special[n]) for n in (0, 1)
    )
    fenced, deep = f"{next(topics)} {rng.between(2, 9)}", f"{next(topics)} {rng.between(2, 9)}"
    fenced_page, deep_page = rng.sample(PAGES, 2)
    elsewhere, owner = rng.sample(PAGES, 2)
    dead = [
        (elsewhere, _anchor(plain[owner][0])),
        (ampersand, _anchor(special[0]).replace("--", "-")),
        (question, f"upgrading-to-{version.replace('.', '-')}-whats-new"),
        (fenced_page, _anchor(fenced)),
        (deep_page, _anchor(deep)),
        (elsewhere, _anchor(plain[elsewhere][1]).rpartition("-")[0]),  # the beginning of one
        *([(rng.pick(PAGES), f"{_anchor(rng.pick(special[3:]))}-1")] if builder.odd else []),
    ]
    lines = {page: [] for page in PAGES}
    sound = [(page, text) for page in PAGES for text in (*plain[page], places[page])]
    for number, (target, anchor) in enumerate(rng.shuffled(dead)):
        page, (other, text) = rng.pick(PAGES), rng.pick(sound)
        links = [_link(rng, page, target, anchor), _link(rng, page, other, _anchor(text))]
        first = number % 3
        lines[page].append(
            f"See {links[0]}." if first == 2 else f"See {links[first]} and {links[1 - first]}."
        )
    for target, text in sound:
        page = rng.pick(PAGES)
        lines[page].append(f"Read {_link(rng, page, target, _anchor(text))} first.")
    for page in PAGES:
        text = [
            f"# {page.title()} Guide",
            "",
            f"A page with [its top](#{page}-guide) and [all](deploy.md).",
            "",
        ]
        text += ["More on [the site](https://example.invalid/vox#guide).", ""]
        for level, heading in enumerate(rng.shuffled([*plain[page], places[page]])):
            text += [
                f"{'#' * (6 if heading in special else rng.between(2, 5))} {heading}",
                "",
                "Some words.",
                *lines[page][level::3],
                "",
            ]
        if page == fenced_page:
            text += ["```sh", f"# {fenced}", "vox doctor", "```", ""]
        if page == deep_page:
            text += [f"####### {deep}", "", "Too deep.", ""]
        builder.file(f"docs/manual/{page}.md", "\n".join(text))


def _anchor(heading):
    return "".join(char for char in heading.lower() if char.isalnum() or char in " _-").replace(
        " ", "-"
    )


def _link(rng, page, target, anchor):
    return f"[{rng.pick(('there', 'this part', 'that'))}]({'' if page == target else target + '.md'}#{anchor})"
