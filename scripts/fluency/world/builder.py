"""Builds a world of parts and refuses invalid ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fluency.world.model import (
    DAY,
    Finding,
    HelperSpec,
    Job,
    Route,
    When,
    World,
    WorldError,
    pack,
    world_sha256,
)
from fluency.world.rng import Rng

_PATH = re.compile(r"[A-Za-z0-9._ -]+(/[A-Za-z0-9._ -]+)*")
_ANY_PATH = re.compile(r"[ -.0-\[\]-~]+(/[ -.0-\[\]-~]+)*")  # printable ASCII without the backslash
_COMM_LIMIT = 15
_THREAD = re.compile(r"[a-z0-9-]{0,15}")
ALWAYS = When()


class Builder:
    """An unfinished world.

    generated_answers: task -> the answer by the generator's own count, for the checks of the world.
    """

    def __init__(self, seed: int, attempt: int = 0) -> None:
        self.seed = seed
        self.odd = seed % 2 == 1
        self.rng = Rng(f"world/{seed}/{attempt}")
        self.files: dict[str, bytes] = {}
        self.dirs: set[str] = set()
        self.ages: dict[str, float] = {}
        self.routes: list[Route] = []
        self.processes: list[HelperSpec] = []
        self.generated_answers: dict[str, Any] = {}

    @classmethod
    def extending(cls, world: World, part: str) -> Builder:
        """A builder that starts from a finished world, with its own random stream."""
        builder = cls(world.seed)
        builder.rng = Rng(f"world/{world.seed}/{part}")
        builder.files, builder.dirs = dict(world.files), set(world.dirs)
        builder.ages = dict(world.ages)
        builder.routes, builder.processes = list(world.http), list(world.processes)
        return builder

    def require(self, holds: bool, invariant: str) -> None:
        """Refuse the world unless the invariant holds."""
        if not holds:
            raise WorldError(self.seed, invariant)

    def file(
        self,
        path: str,
        data: str | bytes,
        *,
        age_days: float | None = None,
        crlf: bool = False,
        any_name: bool = False,
    ) -> None:
        """Add a file, and its folders. The age defaults to a drawn one.

        Text has LF only, with `crlf` CRLF, too. Names are of letters, digits, blanks and
        `.`, `_`, `-`; with `any_name`, for tasks that are about names, of printable ASCII other than the backslash.
        """
        data = data.encode("ascii") if isinstance(data, str) else data
        self._name(path, any_name)
        self.require(
            not data.isascii() or (b"\r\n" in data) == crlf, f"{path}: LF only, or `crlf` and CRLF"
        )
        self.files[path] = data
        self.age(path, self.some_age() if age_days is None else age_days)
        if "/" in path:
            self.folder(path.rsplit("/", 1)[0], any_name=any_name)

    def folder(self, path: str, *, any_name: bool = False) -> None:
        """Add a folder and its parents, where they are missing. Names as in `file`."""
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            name = "/".join(parts[:end])
            if name not in self.dirs:
                self._name(name, any_name)
                self.dirs.add(name)
                self.age(name, self.some_age())

    def age(self, path: str, days: float) -> None:
        """Set the age of a file or folder in days; never near 7 days, which tasks ask for."""
        self.require(
            0.2 <= days <= 5.9 or 8.1 <= days <= 120,
            f"{path}: no age near seven days, not {days} days",
        )
        self.ages[path] = round(days * DAY)

    def some_age(self) -> float:
        """A drawn age in days: 0.3-5.5 or 9-60."""
        return self.recent_age() if self.rng.chance(40) else self.old_age()

    def recent_age(self) -> float:
        return self.rng.between(300, 5500) / 1000

    def old_age(self) -> float:
        return self.rng.between(9000, 60000) / 1000

    def route(
        self,
        path: str,
        status: int,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        method: str = "GET",
        when: When = ALWAYS,
        findings: Sequence[Finding] = (),
        job: Job | None = None,
    ) -> None:
        """Add what the service answers to a path: to every request of the method, or to those `when` holds for.

        Of the answers to one path and method the one to every request comes last.
        """
        before = [
            route.when for route in self.routes if (route.method, route.path) == (method, path)
        ]
        self.require(when not in before and ALWAYS not in before, f"{path}: one route a path")
        self.routes.append(
            Route(method, path, status, dict(headers), body, when, tuple(findings), job)
        )

    def process(self, helper: HelperSpec) -> None:
        """Add a helper process; its parent must have been added before."""
        key, keys = helper.key, {process.key for process in self.processes}
        self.require(key not in keys, f"{key}: one process a key")
        self.require(helper.parent in {None, *keys}, f"{key}: its parent comes first")
        fits = 0 < len(helper.name) <= _COMM_LIMIT
        self.require(fits, f"{helper.name}: process names of at most 15 characters")
        plain = all(map(_THREAD.fullmatch, helper.threads))
        self.require(plain, f"{key}: threads have plain names of at most 15 characters")
        self.processes.append(helper)

    def finish(self) -> World:
        """The world; it is refused if a path has no answer to every request."""
        files, ages = dict(sorted(self.files.items())), dict(sorted(self.ages.items()))
        dirs, http, processes = tuple(sorted(self.dirs)), tuple(self.routes), tuple(self.processes)
        last = {(route.method, route.path): route.when for route in http}
        for (_, path), when in last.items():
            self.require(when == ALWAYS, f"{path}: an answer to every request comes last")
        tar = pack(files, dirs)
        digest = world_sha256(tar, ages, http, processes)
        return World(self.seed, files, dirs, ages, http, processes, tar, digest)

    def _name(self, path: str, any_name: bool) -> None:
        self.require(path not in self.files and path not in self.dirs, f"{path}: one entry a path")
        pattern, kind = (_ANY_PATH, "printable") if any_name else (_PATH, "plain")
        fits = pattern.fullmatch(path) is not None and not {".", ".."} & set(path.split("/"))
        self.require(fits, f"{path!r}: {kind} ASCII names only")
