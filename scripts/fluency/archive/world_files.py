"""Worlds as files: the tree as it enters the sandbox, and ages, service and processes as JSON."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fluency.archive.tar_format import Entry
from fluency.archive.untrusted_json import parse_untrusted
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
    """A world from an unpacked archive; ArchiveError names the file when it is not the one of its hash.

    ours: the world that this checkout makes; it is returned unread where the archive has the same bytes.
    The tree is read into memory and packed again: only a tree of plain files and folders in the one form this
    project writes comes back as the same bytes, so links, devices and stray owners are refused here.
    """
    where = root / folder
    if ours and folder == world_folder(ours.seed, ours.sha256):
        with suppress(OSError):
            if all((where / name).read_bytes() == data for name, data in _files(ours).items()):
                return ours

    def document(name: str) -> Any:
        try:
            return parse_untrusted((where / name).read_bytes(), f"{folder}/{name}")
        except OSError:
            raise ArchiveError("a world's file is missing", where=f"{folder}/{name}") from None

    fact = document("world.json")
    try:
        tar = (where / "tree.tar").read_bytes()
        files, dirs = _tree(tar)
        http = tuple(map(Route.from_json, document("service.json")))
        processes = tuple(HelperSpec.from_json(helper) for helper in document("processes.json"))
        ages: Mapping[str, float] = document("ages.json")
        if pack(files, dirs) != tar:
            raise ArchiveError(
                "the tree is not packed as this project packs it", where=f"{folder}/tree.tar"
            )
        digest = world_sha256(tar, ages, http, processes)
        seed, stated = fact["seed"], fact["sha256"]
    except (
        OSError,
        tarfile.TarError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
    ) as error:
        raise ArchiveError(
            f"the world cannot be read: {type(error).__name__}: {error}", where=folder
        ) from None
    if digest != stated or folder != world_folder(seed, digest):
        raise ArchiveError("the world's files do not give its hash", where=folder)
    return World(seed, files, dirs, ages, http, processes, tar, digest)


def _tree(tar: bytes) -> tuple[dict[str, bytes], tuple[str, ...]]:
    files, dirs = dict[str, bytes](), list[str]()
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
        for member in archive:
            # A sparse member states any size in a few bytes; one that this project packed is followed by its bytes.
            plain = (
                member.type in (tarfile.REGTYPE, tarfile.AREGTYPE)
                and not member.sparse
                and not member.pax_headers
            )
            if plain and member.offset_data + member.size > len(tar):
                raise ValueError(f"{member.name} is larger than its tar")
            if plain and (source := archive.extractfile(member)):
                files[member.name] = source.read()
            elif member.isdir():
                dirs.append(member.name)
            else:
                raise ValueError(f"{member.name} is neither file nor folder")
    return files, tuple(dirs)
