"""Worlds as files: the tree as it enters the sandbox, and ages, service and processes as JSON."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fluency.archive.tar_format import Entry
from fluency.archive.untrusted_json import UNFORESEEN, parse_untrusted
from fluency.common.errors import ArchiveError
from fluency.common.files import pretty_json
from fluency.core.tasks import Task
from fluency.world.model import HelperSpec, Route, World, pack, world_sha256

WORLD_INDEX = "worlds/index.json"
WORLD_DOCUMENTS = ("ages.json", "service.json", "processes.json", "world.json")
"""The files of a world besides its tree."""


def world_entries(
    tasks: Sequence[Task], seeds: Sequence[int], world_for: Callable[[Task, int], World]
) -> list[Entry]:
    """Every world of a study once, and the index that says which task runs in which."""
    index, entries = dict[str, dict[str, str]](), dict[str, Entry]()
    for task in tasks:
        for seed in seeds:
            world = world_for(task, seed)
            folder = world_folder(seed, world.sha256)
            index.setdefault(task.id, {})[str(seed)] = folder
            if f"{folder}/tree.tar" not in entries:
                entries |= {
                    f"{folder}/{name}": Entry(f"{folder}/{name}", data)
                    for name, data in _files(world).items()
                }
    return [*entries.values(), Entry(WORLD_INDEX, pretty_json(index).encode())]


def world_folder(seed: int | str, sha256: str) -> str:
    """The folder of a world in an archive."""
    return f"worlds/{seed}-{sha256[:16]}"


def _files(world: World) -> dict[str, bytes]:
    documents = {
        "ages.json": dict(world.ages),
        "service.json": [route.to_json() for route in world.http],
        "processes.json": [helper.to_json() for helper in world.processes],
        "world.json": {"seed": world.seed, "sha256": world.sha256},
    }
    return {name: pretty_json(value).encode() for name, value in documents.items()} | {
        "tree.tar": world.tar
    }


def load_world(root: Path, folder: str, ours: World | None = None) -> World:
    """Read a world of an unpacked archive.

    The tree is packed again: only one of plain files and folders, in the form in which this project
    packs it, gives the same bytes, so that links, devices and other owners are refused.

    Args:
        ours: the world that this checkout makes; returned where the archive has the same bytes.

    Raises:
        ArchiveError: if it is not the world of its hash.
    """
    where = root / folder
    if ours and folder == world_folder(ours.seed, ours.sha256):
        with suppress(OSError):
            if all((where / name).read_bytes() == data for name, data in _files(ours).items()):
                return ours

    def document(name: str) -> Any:
        return parse_untrusted((where / name).read_bytes(), f"{folder}/{name}")

    try:
        fact = document("world.json")
        tar = (where / "tree.tar").read_bytes()
        files, dirs = _tree(tar)
        http = tuple(map(Route.from_json, document("service.json")))
        processes = tuple(HelperSpec.from_json(helper) for helper in document("processes.json"))
        ages: Mapping[str, float] = document("ages.json")
        digest = world_sha256(tar, ages, http, processes)
        seed, stated = fact["seed"], fact["sha256"]
        same_tar = pack(files, dirs) == tar
    except (OSError, tarfile.TarError, *UNFORESEEN) as error:
        what = f"the world cannot be read: {type(error).__name__}: {error}"
        raise ArchiveError(what, where=folder) from None
    if not same_tar or digest != stated or folder != world_folder(seed, digest):
        raise ArchiveError("the world's files do not give its hash", where=folder)
    return World(seed, files, dirs, ages, http, processes, tar, digest)


def _tree(tar: bytes) -> tuple[dict[str, bytes], tuple[str, ...]]:
    files, dirs = dict[str, bytes](), list[str]()
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
        for member in archive:
            # A sparse file states any size in a few bytes.
            source = None if member.issparse() else archive.extractfile(member)
            if source is not None:
                files[member.name] = source.read()
            elif member.isdir():
                dirs.append(member.name)
            else:
                raise ValueError(f"{member.name} is neither file nor folder")
    return files, tuple(dirs)
