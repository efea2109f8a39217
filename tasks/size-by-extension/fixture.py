"""Assets of a dozen extensions in both cases, and names that only look as if they had one."""

NAMES = (
    "css/app.css",
    "css/PRINT.CSS",
    "images/logo.png",
    "images/banner.png",
    "images/Hero.PNG",
    "images/dark mode.png",
    "images/dark theme.PNG",
    "images/empty state.png",
    "images/Hero.PNG.orig",
    "images/logo.png.orig",
    "icons/close.svg",
    "icons/menu.svg",
    "icons/open all.svg",
    "icons/Home.SVG",
    "icons/v1.2/arrow.svg",
    "icons/v1.2/CHANGES",
    "audio/ready.wav",
    "audio/PING.WAV",
    "video/intro.mp4",
    "video/Tour.MP4",
    "video/short cut.mp4",
    "fonts/inter.woff2",
    "fonts/Karla.WOFF2",
    "fonts/karla.latin.woff2",
    "data/palette.json",
    "data/SIZES.JSON",
    "data/.palette.json",
    "data/app.js.map",
    "data/textures.tar.gz",
    "data/readme.txt",
    ".cache/thumbs.db",
    ".cache/index",
    ".gitattributes",
    "video/.keep",
    "LICENSE",
)


def extend(builder, rng):
    for name in NAMES:
        builder.file(f"assets/{name}", "x" * rng.between(30, 9000))
    # One more picture in odd worlds, so that no even world has the same answer.
    if builder.odd:
        builder.file("assets/images/avatar.png", "x" * rng.between(30, 9000))
