"""The commit that an archive states, as git here knows it: it decides what a difference means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from fluency.archive.manifest import Manifest
from fluency.archive.pack import ENTRY_FILES, LOCK_FILE
from fluency.common.git import below, files_here, files_of_ancestor, git

CODE = "scripts/fluency/"


@dataclass(frozen=True)
class StatedCommit:
    """A commit against this checkout.

    Attributes:
        tree: its files, path -> blob's name; empty for one that the checkout does not descend from,
            and for an archive that was made with uncommitted changes.
        here: the same files of this checkout, as far as they recompute or are compared.
    """

    name: str
    dirty: bool
    tree: Mapping[str, str]
    here: Mapping[str, str]

    @classmethod
    def of(cls, manifest: Manifest) -> StatedCommit:
        """What git here knows of the commit."""
        tree = {} if manifest.dirty else files_of_ancestor(manifest.commit)
        here = files_here(CODE, ENTRY_FILES, "sandbox/", LOCK_FILE)
        return cls(manifest.commit, manifest.dirty, tree, here)

    @cached_property
    def same_code(self) -> bool:
        """Whether this checkout recomputes by the code of the commit."""
        return all(below(self.tree, name) == below(self.here, name) for name in (CODE, LOCK_FILE))

    def has(self, folder: str, files: Mapping[str, str]) -> bool:
        """Whether these are all files of a folder, in this checkout or in the commit."""
        return bool(files) and files in (below(self.here, folder), below(self.tree, folder))

    def neighbours(self, path: str) -> dict[str, bytes]:
        """The commit's other JSON files in the folder of a file, by their names."""
        folder = PurePosixPath(path).parent
        return {
            other.name: git("cat-file", "blob", blob) or b""
            for other, blob in ((PurePosixPath(name), blob) for name, blob in self.tree.items())
            if (other.parent, other.suffix) == (folder, ".json") and str(other) != path
        }

    @property
    def next_step(self) -> str:
        """How to check what this checkout cannot."""
        if self.dirty:
            return "It was made with uncommitted changes: no commit has the code that checks it."
        if not self.tree:
            return f"Nobody here knows commit {self.name}: this checkout does not descend from it."
        return f"To check the rest: git checkout {self.name}, and verify again there"
