"""Configuration files: read, laid over each other, and a mistake in them told with file and key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from fluency.common.errors import UserError
from fluency.common.paths import CONFIG


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
        value = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError("there is no such file", where=str(path), hint="check the name") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())
        raise UserError(f"this is not YAML: {why}", where=str(path), hint="mind indentation and quotes") from None
    if not isinstance(value, dict):
        raise UserError("this file holds no keys", where=str(path), hint="write `key: value` lines")
    return value


def explain(error: ValidationError, files: Sequence[Path]) -> UserError:
    """The first problem of a validation as one sentence with file and key."""
    problem = error.errors()[0]
    keys = [str(part) for part in problem["loc"] if not str(part).startswith(("literal[", "list[", "constrained-"))]
    what = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        what, hint = "unknown key", "check the spelling; docs/config.md lists every key"
    elif problem["type"] == "missing":
        what, hint = "this key is missing", "docs/config.md says what it is for"
    else:
        hint = "docs/config.md says what each key takes"
    where = f"{naming(keys[0], files)}: {'.'.join(keys)}" if keys else str(files[-1])
    return UserError(what, where=where, hint=hint)


def naming(key: str, files: Sequence[Path]) -> str:
    """The last of the files that has a top-level key: the one a user would edit."""
    having = [file for file in files if key in read_yaml(file)]
    return _shown((having or list(files))[-1])


def _shown(file: Path) -> str:
    return str(file.relative_to(CONFIG.parent)) if file.is_relative_to(CONFIG.parent) else str(file)
