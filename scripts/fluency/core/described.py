"""JSON Schema with the docstrings of fields as their descriptions.

Pydantic would read them from the source as each model is made: a quarter of our imports' time, in
every process, for what only schemas need.
"""

import ast
import inspect
from contextlib import suppress
from itertools import pairwise
from textwrap import dedent
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from fluency.core.schema import FrozenModel


def docstrings(model: type[FrozenModel]) -> dict[str, str]:
    """Field -> its docstring, of a model's own fields and of those that it inherits."""
    found = dict[str, str]()
    for base in reversed(model.__mro__):
        if issubclass(base, FrozenModel):
            with suppress(OSError):  # pydantic.create_model leaves no source
                found |= _docstrings_in(inspect.getsource(base))
    return found


def _docstrings_in(source: str) -> dict[str, str]:
    found = dict[str, str]()
    for made in ast.parse(dedent(source)).body:
        for pair in pairwise(ast.iter_child_nodes(made)):
            match pair:
                case (
                    ast.AnnAssign(target=ast.Name(id=field)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    found[field] = inspect.cleandoc(text)
    return found


class Described(GenerateJsonSchema):
    """Pydantic's generator, with those descriptions where a field states no other."""

    def model_schema(self, schema: ModelSchema) -> dict[str, Any]:
        """The schema of a model."""
        made = super().model_schema(schema)
        for field, text in docstrings(schema["cls"]).items():
            made["properties"][field].setdefault("description", text)
        return made
