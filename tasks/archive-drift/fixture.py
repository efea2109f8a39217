"""A packed site and what became of its folder: three files changed in odd worlds, four in even
ones."""

import io
import tarfile

from fluency.world import gzipped

ROOT = "web/site"
PACKED_AT = 1_760_000_000  # October 2025, older than any file of a world
KEPT = (
    "index.html",
    "about.html",
    "robots.txt",
    "css/main.css",
    "css/print.css",
    "css/themes/dark.css",
    "css/themes/light.css",
    "img/logo.svg",
    "img/icons/menu.svg",
    "img/icons/close.svg",
    "js/app.js",
    "js/vendor/tiny.js",
    "docs/intro.html",
    "docs/faq.html",
)
HIDDEN = (".htaccess", ".well-known/security.txt", "js/.eslintrc")
BLANK = ("img/team photo.svg", "docs/first steps.html", "docs/release notes.html")
GONE_FOLDERS = ("old", "img/banners", "docs/v1")
ADDED = ("js/search.js", "img/map.svg", "docs/terms.html", "css/fonts.css")
ADDED_HIDDEN = (".nojekyll", "img/.sizes", ".well-known/change-password")


def extend(builder, rng):
    gone = [f"{rng.pick(GONE_FOLDERS)}/{rng.pick(('a', 'b', 'c'))}{rng.between(10, 99)}.html"]
    packed = {path: _text(rng, path) for path in (*KEPT, *HIDDEN, *BLANK, *gone)}
    # The last one by name has changed, for loops that end in a test.
    same_length = max(KEPT)
    kept = rng.shuffled([path for path in KEPT if path != same_length])
    gone.append(kept.pop())
    now = {path: text for path, text in packed.items() if path not in gone}
    now[kept.pop()] = ""
    now[same_length] = (
        now[same_length][:-2] + f"{(int(now[same_length][-2]) + rng.between(1, 9)) % 10}\n"
    )
    for path in (rng.pick(HIDDEN), rng.pick(BLANK), *([] if builder.odd else [kept.pop()])):
        now[path] += f"changed {rng.between(100, 999)}\n"
    for path in (rng.pick(ADDED), rng.pick(ADDED_HIDDEN)):
        now[path] = _text(rng, path)
    folder, slash, name = (renamed := kept.pop()).rpartition("/")
    now[f"{folder}{slash}{name.capitalize()}"] = now.pop(renamed)
    for path in sorted(now):
        builder.file(f"{ROOT}/{path}", now[path])
    builder.file("dist/site.tar.gz", gzipped(_tar(packed)))


def _text(rng, path):
    return f"{path}\n" * rng.between(1, 12) + f"build {rng.between(1000, 9999)}\n"


def _tar(files):
    folders = {"site"}
    for path in files:
        parts = f"site/{path}".split("/")
        folders |= {"/".join(parts[:end]) for end in range(1, len(parts))}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted((*folders, *(f"site/{path}" for path in files))):
            member = tarfile.TarInfo(path)
            member.mtime = PACKED_AT
            data = b"" if path in folders else files[path.removeprefix("site/")].encode()
            member.size, member.mode = len(data), 0o755 if path in folders else 0o644
            member.type = tarfile.DIRTYPE if path in folders else tarfile.REGTYPE
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()
