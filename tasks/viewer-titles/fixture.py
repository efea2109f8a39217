"""Viewers whose titles hold what a shell, a pattern or a flattened command line trips over."""

from fluency.world import HelperSpec

# A lone *, a word that begins with --, quotation marks, and plain ones; odd and even worlds share
# none.
TITLES = {
    True: ("all * entries", "diff --stat summary", 'say "hi" twice', "Mesh map", "Open issues"),
    False: (
        "every * crate",
        "log --oneline view",
        'the "new" graph',
        "Release notes",
        "Token usage",
    ),
}


def extend(builder, rng):
    def number():
        return str(rng.between(2, 60))

    viewers = []
    places = rng.shuffled(("zoom", "zoom", "last", "last", "tab"))
    for place, title in zip(places, TITLES[builder.odd], strict=True):
        args = ("--title", title)
        if place == "zoom":
            args = (*args, "--zoom", number())
        elif place == "tab":
            args = ("--tab", number(), *args)
        viewers.append(HelperSpec(f"view-{len(viewers)}", "vox-view", args))
    viewers = rng.shuffled(
        [*viewers, HelperSpec("view-gc", "vox-view-gc", ("--title", "old view"))]
    )
    untitled = HelperSpec("view-none", "vox-view", ("--subtitle", "side pane", "--zoom", number()))
    # Not after the last viewer, so that a loop that ends in a test exits 0.
    last = max(place for place, viewer in enumerate(viewers) if viewer.name == "vox-view")
    viewers.insert(rng.between(0, last), untitled)
    for helper in viewers:
        builder.process(helper)
