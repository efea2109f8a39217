"""The mode of every file and folder, and the content of the files."""

from fluency.common.files import sha256


def state(world, processes):
    files = {
        path: {"mode": 0o755 if data.startswith(b"#!") else 0o644, "sha256": sha256(data)}
        for path, data in world.under("tools").items()
    }
    inside = (path for path in world.dirs if path.startswith("tools/"))
    return files | {path: {"mode": 0o755} for path in ("tools", *inside)}
