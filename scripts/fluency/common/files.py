"""JSON for records, SHA-256, and atomic writes."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

JsonObject = dict[str, Any]
"""What JSON and YAML hold between braces."""


def pretty_json(value: Any) -> str:
    """JSON for records: sorted keys, an indent of two, a final newline."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def sha256(data: bytes | str) -> str:
    """Hexadecimal SHA-256 of bytes, or of a text's UTF-8."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def sha256_file(path: Path) -> str:
    """Hexadecimal SHA-256 of a file of any size."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A new file to write in the block; it becomes `path` at the end, and is removed on an error.

    Readers see the old bytes or the new ones, never a part, also after a kill or a power cut:
    the bytes are flushed before the name changes, and the folder after it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name[:80]}.", suffix=".part"
    )
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    flush(path.parent)


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write a file with `atomic_file`."""
    with atomic_file(path) as stream:
        stream.write(data.encode() if isinstance(data, str) else data)


def flush(path: Path) -> None:
    """Write a file's bytes, or a folder's names, to the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_json(path: Path) -> Any:
    """A JSON document that this project wrote."""
    return json.loads(path.read_text(encoding="utf-8"))


def plain_files(folder: Path) -> Iterator[Path]:
    """The plain files below a folder in order, without caches and hidden files."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part == "__pycache__" for part in inside)
        if path.is_file() and not path.is_symlink() and not hidden:
            yield path
