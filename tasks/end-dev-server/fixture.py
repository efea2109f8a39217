"""Servers of one name with ports that contain one another, and others with the same port."""

from fluency.world import HelperSpec


def extend(builder, rng):
    def arguments(*pair):
        rest = [("--root", f"web/{rng.pick(('shop', 'mail', 'core'))}"), ("--strict",)]
        return tuple(word for part in rng.shuffled([pair, *rest]) for word in part)

    servers = [
        ("vox-dev", arguments("--port", "5173")),
        ("vox-dev", arguments("--port", "51730")),
        ("vox-dev", arguments("--port", "15173")),
        ("vox-dev", arguments("--hmr-port", "5173")),
        ("vox-dev", arguments("--port", str(rng.between(3000, 4000)))),
        ("vox-dev", arguments("--port-hint", "5173")),
        ("vox-dev-old", arguments("--port", "5173")),
        ("vox-preview", arguments("--port", "5173")),
    ]
    for number, (name, words) in enumerate(rng.shuffled(servers)):
        builder.process(HelperSpec(f"dev-{number}", name, words, may_end=True))
