"""The highest version of each package of registry/, by the precedence of Semantic Versioning 2.0.0
(section 11)."""


def expected(world, processes):
    packages = {}
    for path in world.dirs:
        parts = path.split("/")
        if len(parts) == 3 and parts[0] == "registry":
            packages.setdefault(parts[1], []).append(parts[2])
    return [f"{name} {max(versions, key=_precedence)}" for name, versions in packages.items()]


def _precedence(version):
    core, _, pre_release = version.partition("+")[0].partition("-")
    identifiers = [
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in pre_release.split(".")
    ]
    return [int(part) for part in core.split(".")], not pre_release, identifiers
