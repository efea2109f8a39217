"""What every document of the project is made of: parts with a closed set of keys."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, ValidationError


class Part(BaseModel):
    """A piece of a document: an unknown key is an error, and nothing changes after it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def first_problem(error: ValidationError) -> str:
    """The first thing a validation found: the dotted place and what is wrong there."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
