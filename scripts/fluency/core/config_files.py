"""Configuration files: read, merged, and a mistake in them explained with file, key and the right form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from fluency.common.errors import UserError
from fluency.common.paths import CONFIG

_FORMS = {
    "int_type": "a whole number, as in `{key}: 5`",
    "float_type": "a number, as in `{key}: 0.5`",
    "string_type": "a text, as in `{key}: name`",
    "bool_type": "`{key}: true` or `{key}: false`",
    "list_type": "a list, as in `{key}: [one, two]`",
    "dict_type": "keys of its own, indented below `{key}:`",
    "model_type": "keys of its own, indented below `{key}:`",
    "too_short": "at least one entry, as in `{key}: [one]`",
}
"""The right form of a key by pydantic's type of error."""


class _Loader(yaml.CSafeLoader):
    """YAML in which no key of a mapping stands twice: the second would silently win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen and isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} stands twice in one mapping", key.start_mark
                )
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`base` with what `over` names replaced: mappings merge, everything else is taken from `over`."""
    merged = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file's mapping; UserError names the file and the line where it does not parse."""
    try:
        value = yaml.load(Path(path).read_text(encoding="utf-8"), _Loader)
    except FileNotFoundError:
        raise UserError("there is no such file", where=str(path), hint="check the name") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())
        raise UserError(f"this is not YAML: {why}", where=str(path), hint="mind indentation and quotes") from None
    if not isinstance(value, dict):
        raise UserError("this file holds no keys", where=str(path), hint="write `key: value` lines")
    return value


def config_error(error: ValidationError, files: Sequence[Path]) -> UserError:
    """The first problem of a validation as one sentence with file and key."""
    problem, choices = _most_telling(error)
    keys = [str(part) for part in problem["loc"] if not str(part).startswith(("literal[", "list[", "constrained-"))]
    what, hint = problem["msg"].removeprefix("Value error, "), "docs/config.md says what each key takes"
    if problem["type"] == "extra_forbidden":
        what, hint = "unknown key", "check the spelling; docs/config.md lists every key"
    elif problem["type"] == "missing":
        what, hint = "this key is missing", "docs/config.md says what it is for"
    elif problem["type"] in _FORMS and keys:
        named = [key for key in keys if not key.isdecimal()]
        form = _FORMS[problem["type"]].format(key=named[-1])
        other = "".join(f", or `{keys[-1]}: {choice}`" for choice in choices)
        what, hint = f"{json.dumps(problem['input'], default=str)} stands here; {what}", f"write {form}{other}"
    where = f"{file_defining(keys[0], files)}: {'.'.join(keys)}" if keys else str(files[-1])
    return UserError(what, where=where, hint=hint)


def _most_telling(error: ValidationError) -> tuple[ErrorDetails, list[str]]:
    """The first problem, and the words that would also have been right there.

    Where a key takes a word or another form, the complaint about the other form says more.
    """
    problems = error.errors()
    key, words = problems[0]["loc"][:1], []
    while problems[0]["type"] == "literal_error" and len(problems) > 1 and problems[1]["loc"][:1] == key:
        words.append(problems.pop(0)["ctx"]["expected"].strip("'"))
    return problems[0], words


def file_defining(key: str, files: Sequence[Path]) -> str:
    """The last of the files that has a top-level key: the one a user would edit."""
    having = [file for file in files if key in read_yaml(file)]
    return _shown((having or list(files))[-1])


def _shown(file: Path) -> str:
    return str(file.relative_to(CONFIG.parent)) if file.is_relative_to(CONFIG.parent) else str(file)
