"""A world's parts and its hash: a tree of files, routes of a loopback service, helper processes."""

from __future__ import annotations

import base64
import struct
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

from fluency.common.canonical import canonical_json
from fluency.common.errors import UserError
from fluency.common.files import sha256

# Placeholders in a body: what the service found in the request, and the id of the started job.
FINDINGS = "@findings@"
JOB = "@job@"


@dataclass(frozen=True)
class When:
    """What a request must have for a route to answer it: all that is stated; nothing by default.

    `query` and `headers` are values by name, None for any value. A query is decoded as a form is;
    the names of headers count in any case, and of a Content-Type only the media type. `json` is the
    JSON text of what the body must hold.
    """

    query: Mapping[str, str | None] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    json: str | None = None


@dataclass(frozen=True)
class Finding:
    """What the answer holds for each line of the request's body that `pattern` matches.

    It holds these `fields`, and the line's number as `line`. The pattern is one of Python's re.
    """

    pattern: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class Job:
    """A job that every request starts, with an id that begins with `name`.

    GET of `under` followed by the id answers with the next of `steps` (JSON texts), and from then
    on with the last.
    """

    under: str
    name: str
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Route:
    """One answer of the service at 127.0.0.1:PORT.

    HEAD is answered like GET, without the body, unless it has a route. Of the routes of one method
    and path the first whose `when` holds answers. An ETag among the `headers` is compared with
    If-None-Match as RFC 9110 says.
    """

    method: str
    path: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    when: When = When()
    findings: tuple[Finding, ...] = ()
    job: Job | None = None

    @property
    def at(self) -> tuple[str, str]:
        return self.method, self.path

    def to_json(self) -> dict[str, Any]:
        """What an archive keeps and the sandbox serves.

        Five plain fields, the body in base64, and what else is stated.
        """
        made = {name: getattr(self, name) for name in ("method", "path", "status")}
        made |= {"headers": dict(self.headers), "body": base64.b64encode(self.body).decode()}
        # JSON with sorted keys would lose the order they are sent in.
        if (order := list(self.headers)) != sorted(order):
            made["header_order"] = order
        if when := {name: value for name, value in vars(self.when).items() if value}:
            made["when"] = when
        if self.findings:
            made["findings"] = {"mark": FINDINGS, "rules": list(map(vars, self.findings))}
        if self.job:
            made["job"] = {"mark": JOB, **vars(self.job)}
        return made

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Route:
        """KeyError, TypeError, ValueError or AttributeError if the data are not a route."""
        headers, job = data["headers"], data.get("job")
        return cls(
            data["method"],
            data["path"],
            data["status"],
            {name: headers[name] for name in data.get("header_order", headers)},
            base64.b64decode(data["body"], validate=True),
            When(**data.get("when", {})),
            tuple(Finding(**rule) for rule in data.get("findings", {}).get("rules", [])),
            Job(job["under"], job["name"], tuple(job["steps"])) if job else None,
        )


DAY = 86_400
PORT = 8765
# The tree in the sandbox: a command's working directory.
WORK_DIR = "/work"
PLAIN_FIELDS = 6
"""Of a helper process; in a world's hash the others count by name, where they are stated."""


class WorldError(UserError):
    """A world that breaks an invariant of the task bank: the seed and the invariant."""

    def __init__(self, seed: int, invariant: str) -> None:
        hint = "choose another seed, or run the tests of tests/world if you changed the generator"
        super().__init__(invariant, where=f"world {seed}", hint=hint)


@dataclass(frozen=True)
class HelperSpec:
    """One named process that runs while the command does.

    Attributes:
        args: the visible argument vector after argv[0], where %P means the process id of the one
            that starts it, and %PP the id of the one above.
        parent: the key of the helper that starts it; None: the runner does.
        rss_mb: mebibytes that are touched.
        virt_mb: further mebibytes that are mapped and not touched.
        threads: the names of its threads after the main one, "" being the process's own name.
        own_session: it leads a session.
        subreaper: orphans below it become its children.
        ends: it ends once those below it have started.
        may_end: it runs as the command's user, so that the command can end it.
        ids: which process id it gets: the next, the next with a digit more, or the next that begins
            with the digits of its parent's.
    """

    key: str
    name: str
    args: tuple[str, ...] = ()
    parent: str | None = None
    rss_mb: int = 2
    virt_mb: int = 0
    threads: tuple[str, ...] = ()
    own_session: bool = False
    subreaper: bool = False
    ends: bool = False
    may_end: bool = False
    ids: Literal["next", "another-digit", "parents-digits"] = "next"

    def to_json(self) -> dict[str, Any]:
        """The first six fields, and of the others those that do not have their default."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for number, (name, value) in enumerate(vars(self).items())
            if number < PLAIN_FIELDS or value != getattr(HelperSpec, name)
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> HelperSpec:
        """TypeError or KeyError if the data are not a helper."""
        lists = {"args": tuple(data["args"]), "threads": tuple(data.get("threads", ()))}
        return cls(**{**data, **lists})


@dataclass(frozen=True)
class World:
    """A finished world. Paths are relative to its root, with `/` and without a leading `./`.

    `ages` gives, for each file and directory, the seconds before "now" of its last modification;
    "now" is when the container starts.
    """

    seed: int
    files: Mapping[str, bytes] = field(default_factory=dict)
    dirs: tuple[str, ...] = ()
    ages: Mapping[str, float] = field(default_factory=dict)
    http: tuple[Route, ...] = ()
    processes: tuple[HelperSpec, ...] = ()

    @property
    def tar(self) -> bytes:
        """The tree as an uncompressed ustar archive, byte for byte the same for the same tree.

        Owner 0, modes 0644 and 0755, all times 0. Packed at each use: hundreds of worlds share
        their files' bytes, while a kept archive would hold them again.
        """
        parts = []
        for path in sorted((*self.dirs, *self.files)):
            data = self.files.get(path)
            parts.append(_header(path, data if data is None else len(data)))
            if data:
                parts += [data, bytes(-len(data) % tarfile.BLOCKSIZE)]
        end = bytes(2 * tarfile.BLOCKSIZE)
        size = sum(map(len, parts)) + len(end)
        return b"".join([*parts, end, bytes(-size % tarfile.RECORDSIZE)])

    @cached_property
    def sha256(self) -> str:
        """Its identity: everything that a command could meet, nothing of the machine or the day."""
        http = [
            _plain_and_rest(route.to_json() | {"body": sha256(route.body)}, 5)
            for route in self.http
        ]
        processes = [_plain_and_rest(helper.to_json(), PLAIN_FIELDS) for helper in self.processes]
        parts = {"tar": sha256(self.tar), "ages": dict(self.ages), "http": http}
        return sha256(canonical_json(parts | {"processes": processes}))

    def under(self, folder: str) -> dict[str, bytes]:
        """The files at any depth below a folder, by path."""
        return {path: data for path, data in self.files.items() if path.startswith(f"{folder}/")}

    def text(self, path: str) -> str:
        return self.files[path].decode("utf-8")

    def lines(self, path: str) -> list[str]:
        """A file's lines, split at line feeds only."""
        return self.text(path).removesuffix("\n").split("\n")

    def names_in(self, folder: str) -> set[str]:
        """The names of a folder's direct entries, files and directories alike."""
        prefix = f"{folder}/"
        inside = [path for path in (*self.files, *self.dirs) if path.startswith(prefix)]
        return {path[len(prefix) :].split("/")[0] for path in inside}

    def crates(self) -> list[str]:
        """The direct subdirectories of crates/ that contain a Cargo.toml."""
        return sorted(
            name for name in self.names_in("crates") if f"crates/{name}/Cargo.toml" in self.files
        )

    def route(self, path: str) -> Route:
        """What the service answers to GET of a path, by the path alone."""
        (only,) = self.routes_at(path)
        return only

    def routes_at(self, path: str, method: str = "GET") -> list[Route]:
        """All that the service may answer to a path, depending on what the request has."""
        return [route for route in self.http if route.at == (method, path)]


@lru_cache(maxsize=4096)
def _header(path: str, size: int | None) -> bytes:
    """The block before a file of this size, or of a directory; worlds of a seed share most."""
    member = tarfile.TarInfo(path)
    if size is None:
        member.mode, member.type = 0o755, tarfile.DIRTYPE
    else:
        member.size = size
    return member.tobuf(tarfile.USTAR_FORMAT)


def gzipped(data: bytes) -> bytes:
    """The data in gzip format, uncompressed: each zlib compresses differently."""
    end = struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + stored(data) + end


def stored(data: bytes) -> bytes:
    """The data as DEFLATE's uncompressed blocks."""
    most, made = 0xFFFF, b""
    for start in range(0, len(data) or 1, most):
        block = data[start : start + most]
        is_last = start + most >= len(data)
        made += struct.pack("<?HH", is_last, len(block), most - len(block)) + block
    return made


def _plain_and_rest(stated: dict[str, Any], plain: int) -> list[Any]:
    """The values of the first fields, and the other fields if there are any."""
    rest = dict(list(stated.items())[plain:])
    return [*list(stated.values())[:plain], *filter(None, [rest])]
