"""Files of web/site that are not as they were packed, by the bytes on both sides."""

import io
import tarfile


def expected(world, processes):
    now = {path.removeprefix("web/site/"): data for path, data in world.under("web/site").items()}
    packed = {}
    with tarfile.open(fileobj=io.BytesIO(world.files["dist/site.tar.gz"]), mode="r:gz") as archive:
        for member in archive:
            if member.isfile():
                packed[member.name.removeprefix("site/")] = archive.extractfile(member).read()
    return [
        path for path in sorted(now.keys() | packed.keys()) if now.get(path) != packed.get(path)
    ]
