"""The files of the archive of the highest version, where they belong."""

import io
import re
import tarfile


def state(world, processes):
    archives, dist = {}, world.under("dist")
    for path, data in dist.items():
        if named := re.fullmatch(r"dist/relay-(\d+)\.(\d+)\.(\d+)\.tar\.gz", path):
            archives[tuple(map(int, named.groups()))] = data
    with tarfile.open(fileobj=io.BytesIO(archives[max(archives)])) as archive:
        files = {
            f"relay/{member.name.partition('/')[2]}": archive.extractfile(member).read()
            for member in archive
            if member.isfile()
        }
    return {
        "opt": {"files": list(files)},
        "dist": {"files": [path.removeprefix("dist/") for path in dist]},
        **{f"opt/{path}": data for path, data in files.items()},
    }
