"""Forms of texts that records hold. What has a form and is of another is no record, whoever wrote it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256."""
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
"""A commit of this repository, in full."""
UtcTime = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$")]
"""A moment, as `common/clock` writes it."""
Count = Annotated[int, Field(ge=0)]
