"""Three files with the version raised in one place each."""

PLACES = {"VERSION": "{}", "package.json": '\n  "version": "{}"', "snap.yaml": "\nversion: {} "}


def state(world, processes):
    old = world.text("desktop/VERSION")
    major, minor, patch = old.split(".")
    new = f"{major}.{minor}.{int(patch) + 1}"
    wanted = {"desktop": {"files": list(PLACES)}}
    for name, place in PLACES.items():
        before, after = world.text(f"desktop/{name}").split(place.format(old))
        wanted[f"desktop/{name}"] = (before + place.format(new) + after).encode()
    return wanted
