"""A manifest and its artifacts; the missing ones of odd worlds are never those of even worlds."""

PRODUCTS = ("vox-cli", "vox-corpus", "vox-lsp", "vox-mesh", "voxup")
SYSTEMS = ("aarch64-darwin", "aarch64-linux", "x86_64-darwin", "x86_64-linux", "x86_64-windows")
NAMES = tuple(f"{product}-{system}" for product in PRODUCTS for system in SYSTEMS)
TEXT = {"Content-Type": "text/plain; charset=utf-8"}
BINARY = {"Content-Type": "application/octet-stream"}


def extend(builder, rng):
    missing = rng.sample(NAMES[builder.odd :: 2], 4)
    other, gone = (
        rng.sample([name for name in NAMES if name not in missing], 7),
        rng.pick((403, 500, 503)),
    )
    # What the path of an entry answers, and where a redirect leads to.
    statuses = [
        (404, 0),
        (404, 0),
        (302, 404),
        (404, 0),
        (200, 0),
        (200, 0),
        (200, 0),
        (200, 0),
        (410, 0),
        (gone, 0),
    ]
    entries = []
    for name, (status, target) in zip([*missing, *other], [*statuses, (302, 200)], strict=True):
        path = _path(rng, name)
        _artifact(builder, rng, path, status, target)
        entries.append((name, rng.between(20_000, 9_900_000), path))
    last = entries.pop(3)
    entries = [*rng.shuffled(entries), last]
    lines = [f"{name:<28}{size:>9}  {path}" for name, size, path in entries]
    withdrawn = f"#{'vox-train-x86_64-linux':<27}{rng.between(20_000, 900_000):>9}  {_path(rng, 'vox-train')}"
    lines.insert(rng.between(2, 8), withdrawn)
    lines.insert(rng.between(2, 8), "")
    builder.route(
        "/dist/manifest.txt", 200, TEXT, "\n".join(["# name  size  path", *lines]).encode()
    )
    _artifact(builder, rng, withdrawn.split()[-1], 404)


def _path(rng, name):
    return f"/dist/{rng.split(name).bytes(3).hex()}/{name}.tar.zst"


def _artifact(builder, rng, path, status, target=0):
    """What GET of an artifact answers; the store of the artifacts refuses HEAD."""
    if target:
        store = path.replace("/dist/", "/dist/store/", 1)
        builder.route(path, status, TEXT | {"Location": store}, b"moved\n")
        _artifact(builder, rng, store, target)
    elif status == 200:
        builder.route(path, status, BINARY, rng.split(path).bytes(rng.between(200, 2_000)))
    else:
        builder.route(path, status, TEXT, f"status {status}".encode())
    builder.route(path, 405, {"Allow": "GET"} | TEXT, b"method not allowed\n", method="HEAD")
