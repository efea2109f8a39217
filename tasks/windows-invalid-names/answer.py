"""Files and folders under data/import/ with a name that the task's rule does not allow."""

DEVICES = {"con", "prn", "aux", "nul"}


def expected(world, processes):
    inside = [path for path in (*world.files, *world.dirs) if path.startswith("data/import/")]
    return [path for path in inside if not allowed(path.rsplit("/", 1)[-1])]


def allowed(name):
    return (
        not set(name) & set('<>:"|?*')
        and not name.endswith(".")
        and name.split(".")[0].lower() not in DEVICES
    )
