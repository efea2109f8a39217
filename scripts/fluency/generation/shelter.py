"""Where a paid answer goes that the store's own disk does not take, and what it cost: a folder of this user's."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from fluency.common.files import flush, sha256
from fluency.generation.answer_file import write_whole


class Shelter:
    """Held answers of one store outside of it: in the user's cache, else in the folder for temporary files."""

    def __init__(self, store: Path) -> None:
        self._name = f"fluency-answers-{sha256(os.path.realpath(store))[:16]}"

    def hold(self, key: str, data: bytes) -> Path | None:
        """Keep an encoded answer durably; where it lies, or None if it could be kept nowhere."""
        for folder in self.made():
            with suppress(OSError):
                path = folder / f"{key}.held"
                write_whole(path, data)
                flush(path)
                flush(folder)
                return path
        return None

    def files(self, key: str = "*", kind: str = "held") -> list[Path]:
        """What is held for a key, or for all."""
        return [path for folder in self.folders if _is_ours(folder) for path in sorted(folder.glob(f"{key}.{kind}"))]

    def made(self) -> Iterator[Path]:
        """The folders that are there, or could be made when they are come to."""
        for folder in self.folders:
            with suppress(OSError):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                if _is_ours(folder):
                    yield folder

    @cached_property
    def folders(self) -> list[Path]:
        """Where it may be, the best place first; looked up once, since every call asks what others hold there."""
        folders = []
        with suppress(RuntimeError):  # nobody's home
            folders.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / self._name)
        with suppress(OSError):  # no folder for temporary files takes any
            folders.append(Path(tempfile.gettempdir()) / f"{self._name}-{os.getuid()}")
        return folders


def _is_ours(folder: Path) -> bool:
    """Whether nobody else can have put anything into the folder."""
    try:
        facts = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o022
