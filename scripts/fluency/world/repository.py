"""A git repository as files: written without git, byte for byte the same, and read again."""

import io
import re
import zlib
from collections.abc import Mapping, Sequence
from hashlib import sha1
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from fluency.common.files import JsonObject
from fluency.world.model import stored

NAME, EMAIL = "Robin Vox", "robin@vox.example"
USER = f"{NAME} <{EMAIL}>"
"""Who commits in a world: its repository's config says so."""
CONFIG = f"""\
[core]
	repositoryformatversion = 0
	bare = false
[user]
	name = {NAME}
	email = {EMAIL}
""".encode()
FILE, FOLDER = 0o100644, 0o40000
READ = re.compile(
    r"HEAD|index|packed-refs|refs(?:/(?!\.)[^/\0]+)+|objects/[0-9a-f]{2}/[0-9a-f]{38}"
)
"""Files that are read, by their whole names: an archive may state any.

Others may name a place outside, as config and alternates do, and few bytes of a pack any size.
"""
MOST_PATHS, MOST_BYTES = 10_000, 4 << 20
"""Of all commits, and of one object, that are read: a command may have written them."""


class Commit(NamedTuple):
    """A commit; `files` is its whole tree, `time` in seconds UTC, `parents` positions in a list."""

    message: str
    files: Mapping[str, bytes]
    time: int
    parents: Sequence[int] = ()
    author: str = USER


def repository(
    commits: Sequence[Commit],
    refs: Mapping[str, int],
    head: str = "refs/heads/main",
    staged: Mapping[str, bytes] | None = None,
) -> dict[str, bytes]:
    """The files of `.git` by path.

    Args:
        commits: parents first.
        refs: full name of each branch and tag -> position of its commit.
        head: the name of the branch that is checked out.
        staged: what the index holds, if it is not the tree of that branch.
    """
    from dulwich.index import IndexEntry, commit_tree, write_index_dict
    from dulwich.object_store import MemoryObjectStore
    from dulwich.objects import Blob
    from dulwich.objects import Commit as Object

    store: Any = MemoryObjectStore()
    ids, index = list[Any](), io.BytesIO()

    def add(files: Mapping[str, bytes]) -> dict[bytes, Any]:
        blobs = {path.encode(): Blob.from_string(data) for path, data in files.items()}
        store.add_objects([(blob, None) for blob in blobs.values()])
        return {path: blob.id for path, blob in blobs.items()}

    for one in commits:
        made = Object()
        made.tree = commit_tree(
            store, [(path, blob, FILE) for path, blob in add(one.files).items()]
        )
        made.parents = [ids[at] for at in one.parents]
        made.author = made.committer = one.author.encode()
        made.author_time = made.commit_time = one.time
        made.author_timezone = made.commit_timezone = 0
        made.message = f"{one.message}\n".encode()
        store.add_object(made)
        ids.append(made.id)
    held = add(commits[refs[head]].files if staged is None else staged)
    # The status of the files is zeros: git reads them instead.
    entries = {path: IndexEntry(0, 0, 0, 0, FILE, 0, 0, 0, blob) for path, blob in held.items()}
    write_index_dict(index, entries, version=2)
    index.write(sha1(index.getvalue()).digest())
    files = {"HEAD": f"ref: {head}\n".encode(), "config": CONFIG, "index": index.getvalue()}
    files |= {name: ids[at] + b"\n" for name, at in refs.items()}
    for name in store:
        one, path = store[name], name.decode()
        whole = b"%b %d\0%b" % (one.type_name, one.raw_length(), one.as_raw_string())
        packed = b"\x78\x01" + stored(whole) + zlib.adler32(whole).to_bytes(4, "big")
        files[f"objects/{path[:2]}/{path[2:]}"] = packed
    return files


def read_repository(files: Mapping[str, bytes]) -> JsonObject:
    """What the files of `.git` say: `HEAD`, `index` (path -> id), each ref with its commit.

    ValueError if they cannot be read.
    """
    from dulwich.index import Index
    from dulwich.repo import Repo

    with TemporaryDirectory() as folder:
        Path(folder, "refs").mkdir()  # `git pack-refs` leaves it empty
        try:
            for path in filter(READ.fullmatch, files):
                if path.startswith("objects/"):
                    _check_size(files[path])
                place = Path(folder, path)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(files[path])
            with Repo(folder) as repo:
                refs = {name.decode(): repo.get_peeled(name) for name in repo.refs.allkeys()}
                refs.pop("HEAD", None)
                commits, left = dict[bytes, JsonObject](), MOST_PATHS
                for name in set(refs.values()):
                    commits[name], entries = _commit(repo.object_store, name, left)
                    left -= 1 + entries
                    if left <= 0:
                        raise ValueError(f"more than {MOST_PATHS} paths")
                found = {name: commits[id] for name, id in refs.items()}
                rows = Index(f"{folder}/index").iterobjects()
                index = {path.decode(): blob.decode() for path, blob, _ in rows}
        except Exception as error:  # dulwich has many
            raise ValueError(f"{type(error).__name__}: {error}") from None
    head = files["HEAD"].decode().strip().removeprefix("ref: ")
    return {"HEAD": head, "index": index, **found}


def history(files: Mapping[str, bytes], ref: str) -> list[JsonObject]:
    """A ref's commits by first parents, newest first, as `read_repository` gives them."""
    from dulwich.object_store import MemoryObjectStore
    from dulwich.objects import ShaFile

    store: Any = MemoryObjectStore()
    for path, data in files.items():
        if path.startswith("objects/"):
            store.add_object(ShaFile.from_file(io.BytesIO(data)))
    found, at = list[JsonObject](), files[ref].strip()
    while at:
        found.append(_commit(store, at, MOST_PATHS)[0])
        at = "".join(found[-1]["parents"][:1]).encode()
    return found


def _check_size(packed: bytes) -> None:
    """ValueError for an object that is larger than what is read."""
    if len(zlib.decompressobj().decompress(packed, MOST_BYTES)) == MOST_BYTES:
        raise ValueError(f"an object of {MOST_BYTES} bytes or more")


def _commit(store: Any, name: bytes, most: int) -> tuple[JsonObject, int]:
    """A commit, and the number of entries in its tree, the most that are read."""
    one = store[name]
    inside = list(islice(store.iter_tree_contents(one.tree, include_trees=True), most))
    said = {
        "id": name.decode(),
        "message": one.message.decode("utf-8", "replace").strip(),
        "author": one.author.decode("utf-8", "replace"),
        "parents": [parent.decode() for parent in one.parents],
        "files": {
            entry.path.decode("utf-8", "replace"): entry.sha.decode()
            for entry in inside
            if entry.mode != FOLDER
        },
    }
    return said, len(inside)
