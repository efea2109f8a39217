"""The request of a cell, its key in the answer store, and the order in which cells are asked. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from typing import Any

from fluency.common.canonical import canonical_json, legacy_canonical_json
from fluency.common.files import sha256
from fluency.core.records import Request, ToolOffer
from fluency.core.shells import Shell, find_shell
from fluency.core.study import Cell, Study
from fluency.generation.policies import resolve, version_headers
from fluency.generation.reply import ARGUMENT

PROTOCOL = 1
"""Bumped by hand when answers bought so far must not count any more; every bump asks for all of them again."""


def request_for(study: Study, cell: Cell, prompt: str, *, refused: bool = False) -> Request:
    """What a cell asks; `refused`: the model's service would not take its temperature, so none is sent."""
    model = study.model(cell.model)
    policy = resolve(model, refused=refused)
    request = Request(
        model_id=policy.model_id,
        prompt=prompt,
        max_tokens=policy.max_tokens,
        temperature=policy.temperature_sent,
        thinking=policy.thinking,
        effort=policy.effort,
        extra_body=policy.extra_body,
        headers=policy.headers,
        protocol=PROTOCOL,
        trial=cell.trial,
        wire=model.wire,
        tool=tool_of(find_shell(cell.shell)) if model.interface == "tool" else None,
    )
    return request.model_copy(update={"seed": seed_of(request)}) if policy.seeded else request


def tool_of(shell: Shell) -> ToolOffer:
    """The tool of a shell whose call is forced where a model is asked as agents call one."""
    schema = {"type": "object", "properties": {ARGUMENT: {"type": "string"}}, "required": [ARGUMENT]}
    return ToolOffer(name=shell.tool_name, description=f"Runs a {shell.title} command.", input_schema=schema)


def request_key(request: Request, form: Callable[[Any], str] = canonical_json) -> str:
    """SHA-256 of the request's canonical JSON: the name of its answer. `form` is another one for older requests."""
    return sha256(form(request.model_dump(mode="json")))


def forms_by_key(request: Request) -> dict[str, Request]:
    """The request under its key, and as earlier versions asked and named it where that differs.

    Schema 1 differs by whole floats; the embedded model was asked by the Messages wire before there were others. What
    was bought under an older key is never asked for again.
    """
    forms = {request_key(request): request}
    if request.seed is None:
        return forms | {request_key(request, legacy_canonical_json): request}
    was = request.model_copy(update={"wire": "messages", "headers": _headers_of_the_embedded(request)})
    for form in (canonical_json, legacy_canonical_json):
        for asked in (request, was):
            older = asked.model_copy(update={"seed": seed_of(asked, form)})
            forms |= {request_key(older, form): older}
    return forms


def _headers_of_the_embedded(request: Request) -> dict[str, str]:
    """The headers that a request for the embedded model had by the Messages wire: with the version of its API."""
    return version_headers("messages", request.temperature) | request.headers


def seed_of(request: Request, form: Callable[[Any], str] = canonical_json) -> int:
    """A sampling seed in 1 … 2^31 - 1 that follows from the request, so that a rerun asks for the same text."""
    unseeded = request.model_copy(update={"seed": None})
    return int(request_key(unseeded, form)[:8], 16) % (2**31 - 1) + 1


def order_key(study: Study, cell: Cell) -> int:
    """A cell's place in the seeded random order, 0 … 2^31 - 1: the shells mix in time, so drift hits both alike."""
    return int(sha256(canonical_json([study.order_seed, *astuple(cell)]))[:8], 16) >> 1
