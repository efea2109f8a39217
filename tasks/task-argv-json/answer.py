"""The arguments of each file, as JSON data."""

from posixpath import basename


def expected(world, processes):
    vectors = {
        basename(path).removesuffix(".argv"): data.decode().split("\0")
        for path, data in world.under("run/tasks").items()
        if path.endswith(".argv")
    }
    return [{"task": name, "argc": len(vector), "argv": vector} for name, vector in vectors.items()]
