"""Assets that collide where case does not count, and such as only look as if they did."""

PICTURES = ("logo.svg", "mascot.svg", "banner.svg", "badge.svg")
PHRASES = (
    ("dark mode.png", "Dark Mode.png", "Dark Theme.png"),
    ("empty state.png", "Empty State.png", "Empty Cart.png"),
)
SOUNDS = ("ready", "ping", "done")
FONTS = ("roboto", "karla", "inter")
PLAIN = (
    "hero/avatar.png",
    "images/avatar.png",
    "hero/splash.png",
    "images/splash.png",
    "images/Kraken.png",
    "images/Kraken.png.orig",
    "images/kraken-2.png",
    "Fonts-License.txt",
    "icons/menu.svg",
    "Icons/Open.svg",
    "audio/README.md",
    "hero/README.md",
    "audio/.cache/index.json",
)


def extend(builder, rng):
    picture, sound, font = rng.pick(PICTURES), rng.pick(SOUNDS), rng.pick(FONTS)
    lower, upper, alone = rng.pick(PHRASES)
    paths = [f"images/{name}" for name in (picture, picture.capitalize(), lower, upper, alone)]
    paths += ["icons/close.svg", "Icons/close.svg", f"audio/{sound}.wav", f"audio/{sound}.WAV"]
    paths += [
        f"fonts/{name}.woff2"
        for name in (font, font.capitalize(), font.upper())[: 3 if builder.odd else 2]
    ]
    for path in (*paths, *PLAIN):
        builder.file(f"assets/{path}", f"{rng.below(1_000_000)}\n")
