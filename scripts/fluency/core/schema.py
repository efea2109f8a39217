"""Base models, types of fields, and record files."""

from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from fluency.common.errors import REBUILD_HINT, UserError
from fluency.common.files import pretty_json, write_atomic


class FrozenModel(BaseModel):
    """A document or a part of one: immutable, and without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def first_problem(error: ValidationError) -> str:
    """The first error of a validation: the dotted path of the field, and what is wrong."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256."""
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
"""A commit of this repository, in full."""
UtcTime = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$")]
"""As `common/clock` writes it."""
Count = NonNegativeInt
RECORD_SCHEMA = 1
"""Version of the records' form. A change that an older reader would misread raises it."""
RecordType = TypeVar("RecordType", bound=FrozenModel)


class Record(FrozenModel):
    """A document with its own file."""

    schema_version: int = Field(RECORD_SCHEMA, ge=RECORD_SCHEMA, le=RECORD_SCHEMA)


def read_record(kind: type[RecordType], path: Path | str) -> RecordType:
    """A record from its file; UserError names a file that is damaged or of a newer version."""
    try:
        with open(path, "rb") as file:
            return kind.model_validate_json(file.read())
    except FileNotFoundError:
        raise UserError(
            "no such record", where=path, hint="`make plan` lists what is missing"
        ) from None
    except ValidationError as error:
        what = f"this is not a {kind.__name__.lower()} record of schema {RECORD_SCHEMA}"
        raise UserError(f"{what}: {first_problem(error)}", where=path, hint=REBUILD_HINT) from None


def write_record(path: Path, record: FrozenModel) -> None:
    """Write a record atomically."""
    write_atomic(path, pretty_json(record.model_dump(mode="json")))


def _all_differ(values: list[Any]) -> list[Any]:
    names = [getattr(value, "alias", value) for value in values]
    if len(set(names)) < len(names):
        raise ValueError(f"every entry must be different, got {names}")
    return values


Entry = TypeVar("Entry")
Entries = Annotated[list[Entry], Field(min_length=1), AfterValidator(_all_differ)]
"""At least one, and none twice; models differ by their aliases."""


class StrictModel(FrozenModel):
    """What a person writes: a value of another type is an error, as `true` for a number."""

    model_config = ConfigDict(strict=True)
