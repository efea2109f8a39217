"""Packages of ops/audit/Cargo.lock from which openssl-sys can be reached."""

import tomllib


def expected(world, processes):
    packages = tomllib.loads(world.text("ops/audit/Cargo.lock"))["package"]
    needed = {}
    for package in packages:
        key = package["name"], package["version"]
        needed[key] = [_meant(text, packages) for text in package.get("dependencies", [])]
    return [
        f"{name} {version}" for name, version in needed if _reaches((name, version), needed, set())
    ]


def _meant(text, packages):
    """The package of `name` or `name version`."""
    name, _, version = text.partition(" ")
    (found,) = [one for one in packages if one["name"] == name and version in ("", one["version"])]
    return found["name"], found["version"]


def _reaches(package, needed, seen):
    seen.add(package)
    return any(
        one[0] == "openssl-sys" or (one not in seen and _reaches(one, needed, seen))
        for one in needed[package]
    )
