"""Freeze a design, read it back, list deviations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fluency.analysis.decision_table import plan_for, plan_sha256
from fluency.archive.untrusted_json import parse_untrusted
from fluency.common.canonical import KEY, has_valid_self_hash, with_self_hash
from fluency.common.clock import is_time, parse_time, utc_now
from fluency.common.errors import UserError
from fluency.common.files import pretty_json, sha256_file, write_atomic
from fluency.common.git import git_state
from fluency.common.paths import ROOT
from fluency.common.terminal import print_lines
from fluency.core.code_hashes import FROZEN, code_sha256
from fluency.core.loaded_study import LoadedStudy
from fluency.core.provenance import Provenance, Registered
from fluency.core.shells import SHELLS, gap_shells
from fluency.core.study import ModelConfig, Study
from fluency.core.task_world import world_for
from fluency.core.tasks import Task, set_name
from fluency.execution.image_content import content_sha256
from fluency.generation.policies import resolve
from fluency.generation.request import ANSWER_PROTOCOL, PREAMBLE
from fluency.world import World

REGISTRATION_SCHEMA = 1
KIND = "pre-registration"
_MOMENT = ("kind", "schema_version", "registered_utc", "commit", "dirty", "earlier_sha256", KEY)
"""Keys that say what a registration is, when and where it was made."""
_OF_CHECKOUT = (
    "task_set",
    "prompt",
    "analysis",
    "code",
    "sandbox_sha256",
    "protocol",
    "exclusions",
)
"""Keys of the design that this checkout decides, not the study."""
_OF_MODEL = {"served_by", "base_url", "wire", "interface", "region", "project"}
_NOT_SAMPLING = {"effort_default", "price", "expected_output_tokens", "note", "source"}
"""A policy's fields that change no request."""
EXCLUSIONS = [
    "a task enters a model's gap only with enough measured trials in both shells, "
    "as the plan's `task_enters` says",
    "a cell that could not be measured is missing, never failed, and is measured by a later run",
    "no task, model, trial or answer is excluded because of its result",
]

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


def read_registration(path: Path) -> dict[str, Any]:
    """Read a registration.

    Raises:
        UserError: when it is missing, edited, of another schema, or of a time that has not passed.
    """
    document = parse_untrusted(path.read_bytes(), str(path)) if path.is_file() else None
    facts: dict[str, Any] = document if isinstance(document, dict) else {}
    made = facts.get("registered_utc")
    if (facts.get("kind"), facts.get("schema_version")) != (KIND, REGISTRATION_SCHEMA):
        what = f"there is no such registration of schema {REGISTRATION_SCHEMA}"
        hint = "name the file that `make preregister` wrote"
    elif not has_valid_self_hash(facts):
        what = f"the registration was edited after it was made: its {KEY} does not fit its content"
        hint = "take the file back from version control; what changed belongs into the study's file"
    elif not (is_time(made) and "T" in str(made)) or parse_time(str(made)) > parse_time(utc_now()):
        what = f"its time of registration, {ascii(made)[:40]}, is not a time in the past"
        hint = "set this machine's clock right; if it is right, register again"
    else:
        return facts
    raise UserError(what, where=str(path), hint=hint)


def design(
    study: Study,
    tasks: Sequence[Task],
    world_for: Callable[[Task, int], World] = world_for,
) -> dict[str, Any]:
    """Everything a result depends on and nothing of the machine, as it reads back from JSON.

    Args:
        world_for: gives the world of a task and a seed.
    """
    plan = plan_for(gap_shells(study.shells))
    frozen: dict[str, Any] = {
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
        "code": {stage: code_sha256(stage) for stage in FROZEN},
        "sandbox_sha256": content_sha256(),
        "protocol": ANSWER_PROTOCOL,
        "exclusions": EXCLUSIONS,
    }
    frozen = json.loads(pretty_json(frozen))
    return frozen


def _sampling(model: ModelConfig) -> dict[str, Any]:
    """How a model will be asked, by the policy table and the config; prices may change freely."""
    policy = resolve(model)
    sent = {name: value for name, value in vars(policy).items() if name not in _NOT_SAMPLING}
    return {"id": model.id} | model.model_dump(include=_OF_MODEL) | sent


def preregister(
    study: Study, tasks: Sequence[Task], decision: str, out: Path, *, utc: str | None = None
) -> Path:
    """Write `<study>-<UTC date>.json` into the folder `out` and return its path.

    A registration is never written over: the same design registered again on its day leaves the
    earlier file, with its time, as it is.

    Args:
        utc: the time of the registration; now if missing.

    Raises:
        UserError: without a decision, and for another registration of that study and day.
    """
    if not decision.strip():
        raise UserError(
            "a registration is for a decision",
            where="decision",
            hint='`make preregister DECISION="…"`, or `decision:` in the study\'s file',
        )
    utc = utc or utc_now()
    frozen = design(study, tasks) | {"decision": decision.strip()}
    path = out / f"{study.study}-{utc[:10]}.json"
    if not path.exists():
        commit, dirty = git_state()
        moment = {
            "kind": KIND,
            "schema_version": REGISTRATION_SCHEMA,
            "registered_utc": utc,
            "commit": commit,
            "dirty": dirty,
            "earlier_sha256": sorted(map(sha256_file, path.parent.glob("*.json"))),
        }
        write_atomic(path, pretty_json(with_self_hash(frozen | moment)))
    elif _frozen(read_registration(path)) != frozen:
        raise UserError(
            "there is a registration of this study and day already",
            where=str(path),
            hint="a registration is not changed: rename the study, or register it tomorrow",
        )
    return path


def with_registration(
    provenance: Provenance,
    study: Study,
    tasks: Sequence[Task],
    path: Path | None = None,
    world_for: Callable[[Task, int], World] = world_for,
) -> Provenance:
    """The provenance with the study's registration, if it names one, and the deviations from it.

    Args:
        path: the registration's file, where it is not in the project.
    """
    if study.preregistration is None:
        return provenance
    path = path or ROOT / study.preregistration
    frozen = read_registration(path)
    others = {other.name: sha256_file(other) for other in siblings(path)}
    registration = Registered(
        path=study.preregistration,
        sha256=sha256_file(path),
        utc=frozen["registered_utc"],
        commit=frozen["commit"],
        dirty=frozen["dirty"],
        siblings=others,
        others_before=len({*frozen["earlier_sha256"]} - {*others.values()}),
    )
    found = list(_differences("", _frozen(frozen), design(study, tasks, world_for)))
    if registration.precedes(first := provenance.first_answer_utc) is False:
        what = f"registered {registration.utc}, the first answer came {first}"
        found.insert(0, f"registered after the first answer: {what}")
    return provenance.model_copy(update={"registration": registration, "deviations": found})


def siblings(path: Path) -> list[Path]:
    """The other registrations in its folder with a model and at least half of the tasks of this."""

    def asked(file: Path) -> tuple[set[str], set[str]]:
        frozen = read_registration(file)
        return {str(model["id"]) for model in frozen["models"].values()}, {*frozen["tasks"]}

    (models, tasks), found = asked(path), []
    for other in sorted(path.parent.glob("*.json")):
        with suppress(UserError):
            their_models, their_tasks = asked(other)
            same = models & their_models and 2 * len(tasks & their_tasks) >= len(tasks)
            if same and other.name != path.name:
                found.append(other)
    return found


def is_about_code(deviation: str) -> bool:
    """Whether a deviation follows from this checkout, and not from the study and its tasks."""
    return deviation.startswith(_OF_CHECKOUT)


def _frozen(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in _MOMENT}


def _differences(place: str, was: object, now: object, depth: int = 3) -> Iterator[str]:
    """A sentence for each value that differs between two documents, to `tasks.<id>.<key>`."""
    if isinstance(was, dict) and isinstance(now, dict) and depth:
        for key in sorted(was.keys() | now.keys()):
            yield from _differences(
                f"{place}.{key}".lstrip("."), was.get(key), now.get(key), depth - 1
            )
    elif was is None and now is not None:
        yield f"{place}: in the study, not registered"
    elif now is None and was is not None:
        yield f"{place}: registered, not in the study"
    elif was != now:
        was, now = (json.dumps(value, ensure_ascii=False) for value in (was, now))
        short = len(was) + len(now) <= 120
        yield f"{place}: registered {was}, now {now}" if short else f"{place}: not as registered"
