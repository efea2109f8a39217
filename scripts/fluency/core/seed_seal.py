"""A commitment to the seeds of the worlds: nobody can have tuned to them before they are revealed."""

from __future__ import annotations

from collections.abc import Sequence

from fluency.common.canonical import canonical_json
from fluency.common.files import sha256

FORM = r"^commit:[0-9a-f]{64}$"


def seal(seeds: Sequence[int], salt: str) -> str:
    """`commit:` and the SHA-256 of the canonical JSON `{"salt": …, "seeds": […]}`; the order of the seeds counts."""
    return f"commit:{sha256(canonical_json({'salt': salt, 'seeds': list(seeds)}))}"
