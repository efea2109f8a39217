"""Freeze a design, read it back, list deviations."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from fluency.analysis.decision_table import plan_for, plan_sha256
from fluency.common.canonical import KEY, canonical_sha256, has_valid_self_hash, with_self_hash
from fluency.common.clock import is_time, parse_time, utc_now
from fluency.common.errors import UserError
from fluency.common.files import pretty_json, sha256, sha256_file, write_atomic
from fluency.common.git import (
    below,
    commit_utc,
    files_here,
    files_of_ancestor,
    first_commit_with,
    git_state,
)
from fluency.common.paths import ROOT
from fluency.common.terminal import print_lines
from fluency.core.code_hashes import FROZEN, code_sha256, sources
from fluency.core.loaded_study import LoadedStudy
from fluency.core.provenance import Provenance, Registered
from fluency.core.schema import Commit, Digest, FrozenModel, UtcTime
from fluency.core.shells import SHELLS, gap_pairs
from fluency.core.study import ModelConfig, Study, is_one
from fluency.core.task_world import WorldFor, world_for
from fluency.core.tasks import Task, set_name
from fluency.core.untrusted_json import parse_record
from fluency.execution.image_content import content_sha256
from fluency.generation.conversation import AGAIN
from fluency.generation.policies import resolve
from fluency.generation.request import ANSWER_PROTOCOL, PREAMBLE

_OF_MODEL = {"served_by", "base_url", "wire", "interface", "region", "project"}
_NOT_SAMPLING = {"effort_default", "price", "expected_output_tokens", "note", "source"}
"""A policy's fields that change no request."""
EXCLUSIONS = [
    "a task enters a model's gap only with enough measured trials in both shells, "
    "as the plan's `task_enters` says",
    "a cell that could not be measured is missing, never failed, and is measured by a later run",
    "no task, model, trial or answer is excluded because of its result",
]
DECIDING = ("common", "world", "core", "generation", "execution", "scoring", "analysis")
"""The packages whose code decides a number."""


ANALYSIS = "scripts/fluency/analysis/"
OF_READER = ("analysis", "exclusions")
"""What a registration freezes and no record shows: how the results are read."""


Frozen = dict[str, Any]
"""A design, or a registration of one, as JSON reads it back."""


class Moment(FrozenModel):
    """What a registration is, when and where it was made."""

    kind: Literal["pre-registration"] = "pre-registration"
    schema_version: Literal[1] = 1
    registered_utc: UtcTime
    commit: Commit | None
    dirty: bool | None
    earlier_sha256: list[Digest]
    """Of the registrations that were there."""


class Registration(Moment):
    """A frozen design; what its parts hold is compared key by key."""

    study: str
    decision: str
    task_set: str
    tasks: dict[str, dict[str, Any]]
    models: dict[str, dict[str, Any]]
    shells: list[str]
    trials: int
    turns: int = Field(1, exclude_if=is_one)
    conditions: list[str]
    seeds: list[int]
    order_seed: int
    limits: dict[str, Any]
    prompt: dict[str, str]
    analysis: dict[str, Any]
    code: dict[str, Digest]
    sandbox_sha256: Digest
    protocol: int
    exclusions: list[str]
    sha256: Digest
    """Of all the rest."""


_REGISTERED = """{path}
Put this into the study's file:
  preregistration: {name}
  decision: {decision}
A clock can be set, so let a third party see the registration before the first answer:
  git add {name} && git commit -m "Register {name}" && git push
docs/archive.md says how to sign it."""


def register(loaded: LoadedStudy, decision: str) -> int:
    """Freeze a study's design into a file to be committed, and print how the study names it."""
    from fluency.analysis.power import outlook_lines

    study = loaded.study
    path = preregister(study, loaded.tasks, decision or study.decision, ROOT / "preregistrations")
    frozen = read_registration(path)
    text = _REGISTERED.format(
        path=path,
        name=path.relative_to(ROOT),
        decision=json.dumps(frozen["decision"], ensure_ascii=False),
    )
    print_lines([*text.split("\n"), *outlook_lines(study, len(loaded.tasks))])
    if frozen["commit"] is None or frozen["dirty"]:
        print("No commit holds the code it was made by: commit your changes before you register.")
    return 0


def read_registration(path: Path) -> Frozen:
    """Read a registration; UserError when it is missing or as `parse_registration` refuses it."""
    if not path.is_file():
        hint = "name the file that `make preregister` wrote"
        raise UserError("no such registration", where=str(path), hint=hint)
    return parse_registration(path.read_bytes(), str(path))


def parse_registration(data: bytes, where: str) -> Frozen:
    """The registration in a file.

    Raises:
        UserError: for unknown and missing keys, an edit, and a time that has not passed.
    """
    facts = parse_record(Registration, data, where).model_dump()
    utc = facts["registered_utc"]
    if not has_valid_self_hash(facts):
        what = f"the registration was edited after it was made: its {KEY} does not fit its content"
        hint = "take the file back from version control; what changed belongs into the study's file"
        raise UserError(what, where=where, hint=hint)
    if not is_time(utc) or parse_time(utc) > parse_time(utc_now()):
        what = f"its time of registration, {utc}, is not a time in the past"
        hint = "set this machine's clock right; if it is right, register again"
        raise UserError(what, where=where, hint=hint)
    return facts


def design(
    study: Study,
    tasks: Sequence[Task],
    world_for: WorldFor = world_for,
) -> Frozen:
    """Everything a result depends on and nothing of the machine, as it reads back from JSON.

    Args:
        world_for: gives the world of a task and a seed.
    """
    plan = plan_for(*gap_pairs(study.shells))
    entries = {shell: SHELLS[shell].facts for shell in study.shells}
    frozen: Frozen = {
        "study": study.study,
        "decision": study.decision.strip(),
        "task_set": set_name([task.id for task in tasks]),
        "tasks": {
            task.id: {
                "sha256": task.sha256,
                "prompt_sha256": task.prompt_sha256,
                "check_sha256": task.check_sha256,
                "worlds": {str(seed): world_for(task, seed).sha256 for seed in study.seeds},
            }
            for task in tasks
        },
        "models": {model.alias: _sampling(model) for model in study.models},
        "shells": list(study.shells),
        "trials": study.trials,
        "conditions": sorted(study.conditions),
        "seeds": list(study.seeds),
        "order_seed": study.order_seed,
        "limits": study.sandbox.limits.model_dump(mode="json"),
        "prompt": {
            "preamble": PREAMBLE,
            **{shell: SHELLS[shell].prompt_line for shell in study.shells},
        },
        "analysis": {"version": plan["version"], "sha256": plan_sha256(plan), "plan": plan},
        "code": {stage: code_sha256(stage) for stage in FROZEN}
        | {"shells": canonical_sha256(entries)},
        "sandbox_sha256": content_sha256(study.shells),
        "protocol": ANSWER_PROTOCOL,
        "exclusions": EXCLUSIONS,
    }
    if study.turns > 1:
        frozen |= {"turns": study.turns, "prompt": frozen["prompt"] | {"again": AGAIN}}
    frozen = json.loads(pretty_json(frozen))
    return frozen


def _sampling(model: ModelConfig) -> dict[str, Any]:
    """How a model will be asked, by the policy table and the config; prices may change freely."""
    policy = resolve(model)
    sent = {name: value for name, value in vars(policy).items() if name not in _NOT_SAMPLING}
    return {"id": model.id} | model.model_dump(include=_OF_MODEL) | sent


def preregister(study: Study, tasks: Sequence[Task], decision: str, out: Path) -> Path:
    """Write `<study>-<UTC date>.json` into the folder `out` and return its path.

    A registration is never written over: the same design registered again on its day leaves the
    earlier file, with its time, as it is.

    Raises:
        UserError: without a decision, and for another registration of that study and day.
    """
    if not decision.strip():
        raise UserError(
            "a registration is for a decision",
            where="decision",
            hint='add `DECISION="…"` to the command, or `decision:` to the study\'s file',
        )
    frozen = design(study, tasks) | {"decision": decision.strip()}
    utc = utc_now()
    path = out / f"{study.study}-{utc[:10]}.json"
    if not path.exists():
        commit, dirty = git_state()
        moment = Moment(
            registered_utc=utc,
            commit=commit,
            dirty=dirty,
            earlier_sha256=sorted(map(sha256_file, path.parent.glob("*.json"))),
        )
        write_atomic(path, pretty_json(with_self_hash(frozen | moment.model_dump())))
    elif _frozen(read_registration(path)) != frozen:
        raise UserError(
            "there is a registration of this study and day already",
            where=str(path),
            hint="a registration is not changed: rename the study, or register it tomorrow",
        )
    return path


def with_registration(provenance: Provenance, study: Study, tasks: Sequence[Task]) -> Provenance:
    """The provenance with the study's registration, if it names one, and the deviations from it."""
    if study.preregistration is None:
        return provenance
    path = ROOT / study.preregistration
    read_registration(path)
    now = design(study, tasks)
    return compared(provenance, study.preregistration, path.read_bytes(), now, others_of(path))


def compared(
    provenance: Provenance,
    path: str,
    data: bytes,
    now: Frozen,
    others: Mapping[str, bytes],
    tree: Mapping[str, str] | None = None,
) -> Provenance:
    """The provenance with a registration, the deviations from it, and what git refutes.

    Args:
        path: the file's, relative to the project.
        now: the design of the study.
        others: the files next to it.
        tree: the files of the commit whose code made the study, if this checkout is another; empty
            if it is not known here.
    """
    frozen, first = parse_registration(data, path), provenance.first_answer_utc
    held, before = first_commit_with(data, path), files_of_ancestor(frozen["commit"] or "")
    unproven, found = [], list[str]()
    if held is None:
        unproven.append("order not proven: git here has no such file")
    elif first and parse_time(utc := commit_utc(held)) >= parse_time(first):
        unproven.append(f"order not proven: the first commit with it, {held[:12]}, is of {utc}")
    if tree is not None:
        now = now | {key: frozen[key] for key in ("code", "task_set")}
        ours = files_here(ANALYSIS)
        if below(tree, ANALYSIS) != ours and any(now[key] != frozen[key] for key in OF_READER):
            unproven.append("analysed by this checkout's plan, which is not the registered one")
            now |= {key: frozen[key] for key in OF_READER}
        parts = [f"scripts/fluency/{name}/" for name in DECIDING]
        changed = [part for part in parts if below(before, part) != below(tree, part)]
        if not (before and tree) or frozen["dirty"]:
            unproven.append("code: not known here")
        elif changed:
            found.append(f"code: {', '.join(changed)} changed after the registration")
    same = siblings(frozen, others)
    registration = Registered(
        path=path,
        sha256=sha256(data),
        utc=frozen["registered_utc"],
        commit=frozen["commit"],
        dirty=frozen["dirty"],
        siblings=same,
        others_before=len({*frozen["earlier_sha256"]} - {*same.values()}),
        refuted=list(_refuted(frozen, held, before)),
        unproven=unproven,
    )
    if registration.precedes(first) is False:
        what = f"registered {registration.utc}, the first answer came {first}"
        found.append(f"registered after the first answer: {what}")
    found += [*registration.refuted, *_differences("", _frozen(frozen), now)]
    return provenance.model_copy(update={"registration": registration, "deviations": found})


def _refuted(frozen: Frozen, held: str | None, before: Mapping[str, str]) -> Iterator[str]:
    """What a registration says of its time and its commit, and git knows better.

    Args:
        held: the first commit with its file.
        before: the files of the commit that it names.
    """
    utc, commit = frozen["registered_utc"], frozen["commit"]
    if before and parse_time(commit_utc(commit)) > parse_time(utc):
        yield f"registered_utc: {utc} is before its commit, which is of {commit_utc(commit)}"
    if held and parse_time(commit_utc(held)) < parse_time(utc):
        yield f"registered_utc: {utc} is after the commit with its file, of {commit_utc(held)}"
    if before and frozen["dirty"] is False:
        stages = [stage for stage in FROZEN if frozen["code"].get(stage) == code_sha256(stage)]
        here = files_here(*(file for stage in stages for file in sources(stage)[0]))
        changed = [path for path, blob in here.items() if before.get(path, blob) != blob]
        if changed:
            yield f"dirty: its commit has no such {sorted(changed)[0]} as it registers"


def others_of(path: Path) -> dict[str, bytes]:
    """The other registrations in the folder of one, by their names."""
    files = sorted(path.parent.glob("*.json"))
    return {file.name: file.read_bytes() for file in files if file.name != path.name}


def siblings(frozen: Frozen, others: Mapping[str, bytes]) -> dict[str, str]:
    """Name -> SHA-256 of those others that have a model and at least half of the tasks of one."""

    def asked(facts: Frozen) -> tuple[set[str], set[str]]:
        return {str(model.get("id")) for model in facts["models"].values()}, {*facts["tasks"]}

    (models, tasks), found = asked(frozen), {}
    for name, data in others.items():
        with suppress(UserError):
            their_models, their_tasks = asked(parse_registration(data, name))
            if models & their_models and 2 * len(tasks & their_tasks) >= len(tasks):
                found[name] = sha256(data)
    return found


def _frozen(document: Frozen) -> Frozen:
    """The design alone, without the moment of its registration."""
    return {key: document[key] for key in document.keys() - Moment.model_fields.keys() - {KEY}}


def _differences(place: str, was: Any, now: Any, depth: int = 3) -> Iterator[str]:
    """A sentence for each value that differs between two documents, to `tasks.<id>.<key>`."""
    if isinstance(was, dict) and isinstance(now, dict) and depth:
        for key in sorted(was.keys() | now.keys()):
            inner = f"{place}.{key}".lstrip(".")
            if key not in was:
                yield f"{inner}: in the study, not registered"
            elif key not in now:
                yield f"{inner}: registered, not in the study"
            else:
                yield from _differences(inner, was[key], now[key], depth - 1)
        return
    was, now = (json.dumps(value, ensure_ascii=False, sort_keys=True) for value in (was, now))
    if was != now:  # as text, in which true is not 1
        short = len(was) + len(now) <= 120
        yield f"{place}: registered {was}, now {now}" if short else f"{place}: not as registered"
