"""Worlds as files: the tree as it enters the sandbox, and ages, service and processes as JSON."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Sequence

from fluency.archive.untrusted_json import UNFORESEEN, parse_untrusted
from fluency.common.errors import ArchiveError
from fluency.common.files import pretty_json
from fluency.core.tasks import Task
from fluency.world.model import HelperSpec, Route, World

WORLD_INDEX = "worlds/index.json"
TREE, WORLD = "tree.tar", "world.json"


def world_files(
    tasks: Sequence[Task], seeds: Sequence[int], world_for: Callable[[Task, int], World]
) -> dict[str, bytes]:
    """Every world of a study once, and the index that says which task runs in which."""
    index, files = dict[str, dict[str, str]](), dict[str, bytes]()
    for task in tasks:
        for seed in seeds:
            world = world_for(task, seed)
            folder = world_folder(world)
            index.setdefault(task.id, {})[str(seed)] = folder
            if f"{folder}/{TREE}" not in files:
                files[f"{folder}/{TREE}"] = world.tar
                document = {
                    "seed": world.seed,
                    "sha256": world.sha256,
                    "ages": dict(world.ages),
                    "service": [route.to_json() for route in world.http],
                    "processes": [helper.to_json() for helper in world.processes],
                }
                files[f"{folder}/{WORLD}"] = pretty_json(document).encode()
    return {**files, WORLD_INDEX: pretty_json(index).encode()}


def world_folder(world: World) -> str:
    """The folder of a world in an archive."""
    return f"worlds/{world.seed}-{world.sha256[:16]}"


def load_world(read: Callable[[str], bytes], folder: str) -> World:
    """Read a world of an archive; `read` gives the bytes of a file.

    The tree is packed again: only one of plain files and folders, in the form in which this project
    packs it, gives the same bytes, so that links, devices and other owners are refused.

    Raises:
        ArchiveError: if it is not the world of its hash.
    """
    tar, document = read(f"{folder}/{TREE}"), f"{folder}/{WORLD}"
    values = parse_untrusted(read(document), document)
    try:
        files, dirs = _tree(tar)
        http = tuple(map(Route.from_json, values["service"]))
        processes = tuple(map(HelperSpec.from_json, values["processes"]))
        world = World(values["seed"], files, dirs, values["ages"], http, processes)
        same = (world.sha256, world.tar) == (values["sha256"], tar)
    except (tarfile.TarError, *UNFORESEEN) as error:
        raise ArchiveError(
            f"the world cannot be read: {type(error).__name__}: {error}", where=folder
        ) from None
    if not same or folder != world_folder(world):
        raise ArchiveError("the world's files do not give its hash", where=folder)
    return world


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
