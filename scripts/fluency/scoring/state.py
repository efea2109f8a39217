"""What a command left behind against what the task asks for.

Harbor's tasks hold a copy of this module.
"""

import csv
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from fluency.scoring import checks
from fluency.world.repository import read_repository

Expected = Mapping[str, Mapping[str, Any] | None]
"""Path -> None if nothing may be there, else some of these, or none if it must only exist:

- sha256: of a file (`Task.state` makes it from bytes)
- json: the JSON value of a file
- rows: the rows of a file of comma-separated values
- lines: the lines of a file, with any ends
- link: the target of a link
- mode: the permissions
- files: all files and links below a folder, at any depth, by path relative to it
- git: of a repository's folder what `world.read_repository` gives, as far as it is stated
"""


class Left(NamedTuple):
    """A path as a command left it; `content` is None if it was not kept."""

    kind: str = "absent"
    mode: int | None = None
    target: str | None = None
    digest: str | None = None
    content: bytes | None = None


Tree = Mapping[str, Left]
LONGEST = 200
"""Characters of a path in a clause."""


def tree_left(files: Mapping[str, bytes], folders: Iterable[str], changed: Tree) -> dict[str, Left]:
    """The whole tree: the world's, with what was changed in it."""
    tree = {path: Left("folder", 0o755) for path in folders}
    tree |= {path: Left("file", 0o644, content=data) for path, data in files.items()}
    return tree | dict(changed)


def differences(expected: Expected, tree: Tree, changed: Tree) -> list[str]:
    """What of the expected state is not there, a clause for each path."""
    found = []
    for path, wanted in expected.items():
        left = tree.get(path, Left())
        problem: str | None = "is missing"
        if wanted is None:
            problem = None if left.kind == "absent" else "is still there"
        elif left.kind != "absent":
            wrong = (_problem(form, value, path, tree) for form, value in wanted.items())
            problem = next(filter(None, wrong), None)
        if problem:
            is_same = path in tree and path not in changed and left.kind == "file"
            said = "is unchanged" if is_same else problem
            found.append(f"{checks.quoted(path, LONGEST)} {said}")
    return found


def _problem(form: str, wanted: Any, path: str, tree: Tree) -> str | None:
    left = tree[path]
    if form == "files":
        inside = (name for name, one in tree.items() if one.kind not in ("absent", "folder"))
        found: Any = [name[len(path) + 1 :] for name in inside if name.startswith(f"{path}/")]
        wrong = checks.multiset_problem(wanted, found, "paths")
        return wrong and f"has other files: {wrong}"
    if form == "json" and left.content is not None:
        wrong = checks.content_problem(form, wanted, checks.clean(left.content), [])
        return wrong and f"has other content: {wrong}"
    found = _repository(wanted, path, tree) if form == "git" else _read(form, left)
    if found == wanted:
        return None
    if form == "sha256":
        return "has other bytes than asked for"
    if found is None:
        return f"is a {left.kind} whose {form} is not known"
    if form == "mode":
        found, wanted = f"{found:o}", f"{wanted:o}"
    return f"has another {form}: {checks.quoted(str(found))}, not {checks.quoted(str(wanted))}"


def _read(form: str, left: Left) -> Any:
    """A form of a path; None if it does not have it, or its content was not kept."""
    if form in ("mode", "link"):
        return left.mode if form == "mode" else left.target
    if left.content is None:
        return left.digest if form == "sha256" else None
    if form == "sha256":
        return sha256(left.content).hexdigest()
    lines = checks.clean(left.content).replace("\r", "\n").removesuffix("\n").split("\n")
    return lines if form == "lines" else list(csv.reader(lines))


def _repository(wanted: Mapping[str, Any], path: str, tree: Tree) -> Any:
    """What is stated of a repository, as it is; a text says why it cannot be read."""
    start = f"{path}/"
    inside = {name: left.content for name, left in tree.items() if name.startswith(start)}
    try:
        found = read_repository({name[len(start) :]: data for name, data in inside.items() if data})
    except ValueError as error:
        return str(error)
    stated = {name: found.get(name) for name in wanted}
    for name, value in wanted.items():
        if name.startswith("refs/") and value and found.get(name):
            stated[name] = {key: found[name].get(key) for key in value}
    return stated
