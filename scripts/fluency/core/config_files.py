"""Configuration files: how they are read, merged, and which message names a wrong key."""

import json
import os
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar

import yaml
from pydantic import BaseModel, ValidationError

from fluency.common.errors import UserError
from fluency.common.files import JsonObject
from fluency.common.paths import ROOT

_UNION_BRANCH = re.compile(r"str|float|(literal|list|function-after)\[.*|constrained-.*")
"""Parts of pydantic's locations that name the branch of a union, and no key."""


class _Loader(yaml.CSafeLoader):
    """YAML whose plain scalars are JSON's: 1:30, 0o17, yes and 2026-01-31 are texts.

    YAML 1.1 reads a number such as 1:0:0 in time that grows with the square of its length. A key
    given twice in one mapping is refused; else the second would replace the first.
    """

    yaml_implicit_resolvers: ClassVar[JsonObject] = {}  # type: ignore[misc]  # of the class

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set[str]()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    what, line = f"the key {key.value!r} is given twice", key.start_mark.line + 1
                    raise UserError(what, where=f"line {line}", hint="remove one of the two")
                seen.add(key.value)
        return super().construct_mapping(node, deep)


_INT = r"-?(0|[1-9][0-9]{0,40})"
for _kind, _pattern in (
    ("null", r"null|~|"),
    ("bool", r"true|false"),
    ("int", _INT),
    ("float", _INT + r"(\.[0-9]{1,40}([eE][-+]?[0-9]{1,3})?|[eE][-+]?[0-9]{1,3})"),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind}", re.compile(rf"(?:{_pattern})\Z"), None
    )


def merge(base: JsonObject, over: JsonObject) -> JsonObject:
    """`base` overridden by `over`: mappings are merged, everything else is replaced."""
    merged = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def read_yaml(path: Path) -> JsonObject:
    """A YAML file's mapping; UserError names the file, and the line where it does not parse."""
    try:
        value = yaml.load(path.read_bytes(), _Loader)
    except OSError as error:
        what = f"this file cannot be read: {error.strerror}"
        raise UserError(what, where=path, hint="check the name") from None
    except UserError as error:
        error.where = f"{path}: {error.where}"
        raise
    except yaml.YAMLError as error:
        what = f"this is not YAML: {' '.join(str(error).split())}"
        raise UserError(
            what, where=path, hint="check indentation, quotes, and that it is UTF-8"
        ) from None
    try:
        json.dumps(value, default=str, skipkeys=True)
    except ValueError:
        raise UserError("an alias contains itself", where=path, hint="write it out") from None
    if not isinstance(value, dict):
        raise UserError("this file holds no keys", where=path, hint="write `key: value` lines")
    return value


def banks(root: Path, variable: str) -> list[Path]:
    """A folder of the project, and the private one that an environment variable names."""
    named = os.environ.get(variable)
    if not named:
        return [root]
    private = Path(named).expanduser().absolute()
    if not private.is_dir() or private.resolve().is_relative_to(ROOT):
        raise UserError(
            f"no folder of private {root.name} here, outside the project",
            where=f"{variable}={named}",
            hint=f"name one (the project's files are published), or unset {variable}",
        )
    return [root, private]


def config_error(
    error: ValidationError,
    files: Sequence[Path],
    model: type[BaseModel],
    page: str = "docs/config.md",
) -> UserError:
    """The first problem of a validation as one sentence with file and key.

    Args:
        files: that were merged.
        model: its keys, and its parts' keys, are suggested for a mistyped one.
        page: documents the keys.
    """
    problem = error.errors()[0]
    keys = [str(part) for part in problem["loc"] if not _UNION_BRANCH.fullmatch(str(part))]
    what, hint = problem["msg"].removeprefix("Value error, "), f"{page} says what each key takes"
    if problem["type"] == "extra_forbidden":
        schema = model.model_json_schema()
        parts = [schema, *schema.get("$defs", {}).values()]
        known = {key for part in parts for key in part.get("properties", {})} - {keys[-1]}
        near, what = get_close_matches(keys[-1], known, 1), "unknown key"
        hint = f'did you mean "{near[0]}"?' if near else f"{page} lists every key"
    elif problem["type"] == "missing":
        what, hint = "this key is missing", f"{page} says what it is for"
    elif problem["type"].endswith("_type"):
        what = re.sub("a valid dictionary.*", "`key: value` lines", what)  # it names its class
        what = f"found {json.dumps(problem['input'], default=str)}: {what}"
    where = f"{file_defining(keys[0], files)}: {'.'.join(keys)}" if keys else str(files[-1])
    return UserError(what, where=where, hint=hint)


def file_defining(key: str, files: Sequence[Path]) -> str:
    """The last of the files that has a top-level key, which a user would edit."""
    file = [files[-1], *(file for file in files if key in read_yaml(file))][-1]
    return str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else str(file)
