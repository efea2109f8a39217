"""The text of an entry of the tarball."""

import io
import tarfile


def expected(world, processes):
    with tarfile.open(fileobj=io.BytesIO(world.files["dist/app.tar.gz"])) as archive:
        return archive.extractfile("app/etc/service.conf").read().decode().splitlines()
