"""Builds a world of parts and refuses invalid ones."""

import posixpath
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate

from fluency.world.model import DAY, Finding, HelperSpec, Job, Route, When, World, WorldError
from fluency.world.repository import Commit, repository
from fluency.world.rng import Rng

_PATH = re.compile(r"[A-Za-z0-9._ -]+(/[A-Za-z0-9._ -]+)*")
_ANY_PATH = re.compile(r"[ -.0-\[\]-~]+(/[ -.0-\[\]-~]+)*")  # printable ASCII without the backslash
_COMM_LIMIT = 15
_THREAD = re.compile(r"[!-~]{0,15}")
ALWAYS = When()


class Builder:
    """An unfinished world."""

    def __init__(self, world: World, part: str) -> None:
        """Start from a world, with a separate random stream for each `part`."""
        self.seed = world.seed
        self.odd = world.seed % 2 == 1
        self.rng = Rng(f"world/{world.seed}/{part}")
        self.files, self.dirs, self.ages = dict(world.files), set(world.dirs), dict(world.ages)
        self.routes, self.processes = list(world.http), list(world.processes)

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

        Text has LF only, with `crlf` CRLF, too. Names are of letters, digits, blanks and `.`, `_`,
        `-`; with `any_name`, for tasks that are about names, of printable ASCII other than the
        backslash.
        """
        data = data.encode("ascii") if isinstance(data, str) else data
        self._name(path, any_name)
        plain = not data.isascii() or (b"\r\n" in data) == crlf
        self.require(plain, f"{path}: LF only, or `crlf` and CRLF")
        self.files[path] = data
        self.age(path, self.some_age() if age_days is None else age_days)
        if "/" in path:
            self.folder(path.rsplit("/", 1)[0], any_name=any_name)

    def clear(self) -> None:
        """Take every file and folder out: for a world that is itself a repository."""
        self.files, self.dirs, self.ages = {}, set(), {}

    def folder(self, path: str, *, any_name: bool = False) -> None:
        """Add a folder and its parents, where they are missing. Names as in `file`."""
        for name in accumulate(path.split("/"), "{}/{}".format):
            if name not in self.dirs:
                self._name(name, any_name)
                self.dirs.add(name)
                self.age(name, self.some_age())

    def age(self, path: str, days: float) -> None:
        """Set the age of a file or folder in days; never near 7 days, which tasks ask for."""
        far = 0.2 <= days <= 5.9 or 8.1 <= days <= 120
        self.require(far, f"{path}: no age near seven days, not {days} days")
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
        """Add what the service answers to a path.

        It answers every request of the method, or those that `when` holds for. Of the answers to
        one path and method the one to every request comes last.
        """
        added = Route(method, path, status, dict(headers), body, when, tuple(findings), job)
        before = [route.when for route in self.routes if route.at == added.at]
        self.require(when not in before and ALWAYS not in before, f"{path}: one route a path")
        self.routes.append(added)

    def repository(
        self,
        commits: Sequence[Commit],
        refs: Mapping[str, int],
        head: str = "refs/heads/main",
        staged: Mapping[str, bytes] | None = None,
    ) -> None:
        """Make the folder a git repository (see `repository`); its files stay as they are."""
        for path, data in repository(commits, refs, head, staged).items():
            self.files[f".git/{path}"] = data
            self.age(f".git/{path}", 30)
            self.folder(posixpath.dirname(f".git/{path}"))

    def process(self, helper: HelperSpec) -> None:
        """Add a helper process; its parent must have been added before."""
        key, known = helper.key, {process.key: process.may_end for process in self.processes}
        self.require(key not in known, f"{key}: one process a key")
        may_end = known.get(helper.parent or "", helper.may_end)
        self.require(helper.parent in {None, *known}, f"{key}: its parent comes first")
        self.require(may_end == helper.may_end, f"{key}: it may end if and only if its parent may")
        fits = 0 < len(helper.name) <= _COMM_LIMIT
        self.require(fits, f"{helper.name}: process names of at most 15 characters")
        plain = all(map(_THREAD.fullmatch, helper.threads))
        self.require(plain, f"{key}: names of threads are ASCII of at most 15, without blanks")
        self.processes.append(helper)

    def finish(self) -> World:
        """The world; it is refused if a path has no answer to every request."""
        for path, when in {route.at: route.when for route in self.routes}.items():
            self.require(when == ALWAYS, f"{path}: an answer to every request comes last")
        files, ages = dict(sorted(self.files.items())), dict(sorted(self.ages.items()))
        http, processes = tuple(self.routes), tuple(self.processes)
        return World(self.seed, files, tuple(sorted(self.dirs)), ages, http, processes)

    def _name(self, path: str, any_name: bool) -> None:
        self.require(path not in self.files and path not in self.dirs, f"{path}: one entry a path")
        pattern, kind = (_ANY_PATH, "printable") if any_name else (_PATH, "plain")
        fits = pattern.fullmatch(path) is not None and not {".", ".."} & set(path.split("/"))
        self.require(fits, f"{path!r}: {kind} ASCII names only")
