"""Freeze a design, read it back, list deviations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fluency.analysis.plan import plan_for, plan_sha256
from fluency.archive.code_hashes import FROZEN, code_sha256
from fluency.archive.private_part import Hashed
from fluency.archive.untrusted_json import untrusted_json
from fluency.common.canonical import KEY, has_valid_self_hash, with_self_hash
from fluency.common.clock import is_time, parse_time, utc_now
from fluency.common.errors import ArchiveError, UserError
from fluency.common.files import pretty_json, sha256_file, write_atomic
from fluency.common.git import git_state
from fluency.common.paths import ROOT
from fluency.core.held_out import HeldOutTask, folder_sha256
from fluency.core.provenance import Provenance, Registered
from fluency.core.shells import SHELLS, gap_shells
from fluency.core.study import ModelConfig, Study, seed_commitment
from fluency.core.task_world import world_for
from fluency.core.tasks import Task, set_name
from fluency.execution.image_content import content_sha256
from fluency.generation.policies import resolve
from fluency.generation.request import PREAMBLE, PROTOCOL

SCHEMA_VERSION = 2
"""2: hashes are of RFC 8785 JSON; 1: of Python's own."""
KIND = "pre-registration"
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


def read_registration(path: Path) -> dict[str, Any]:
    """A registration; UserError when it is missing, edited, or from a newer version."""
    try:
        document = untrusted_json(Path(path).read_bytes(), str(path))
    except FileNotFoundError:
        raise UserError(
            "there is no such registration", where=str(path), hint="`make preregister` writes one; mind the path"
        ) from None
    except (OSError, ArchiveError):
        document = None
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise UserError("this is not a registration", where=str(path), hint="name the file `make preregister` wrote")
    version = document.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise UserError(
            f"the registration is of schema {version}, this version reads up to {SCHEMA_VERSION}",
            where=str(path),
            hint="update this project",
        )
    if not has_valid_self_hash(document):
        raise UserError(
            f"the registration was edited after it was made: its {KEY} does not fit its content",
            where=str(path),
            hint="take the file back from version control; what changed belongs into the study's file",
        )
    _check_time(document, path)
    return document


def _check_time(document: dict[str, Any], path: Path) -> None:
    """UserError for a day or time of registering that is unreadable, or that has not come yet."""
    stated: Any = document.get("registered_utc", document.get("registered"))
    form = _TIME if "registered_utc" in document else _DAY
    try:
        if (
            not form.fullmatch(stated)
            or stated[:10] != document["registered"]
            or parse_time(stated) > parse_time(utc_now())
        ):
            raise ValueError
    except (ValueError, TypeError):
        raise UserError(
            f"the registration says it was made at {ascii(stated)[:40]}, which is no time or has not come yet",
            where=str(path),
            hint="set this machine's clock right; if it is right, register anew",
        ) from None


EXCLUSIONS = [
    "a task enters a model's gap only with enough measured trials in both shells, as the plan's `task_enters` says",
    "a cell that could not be measured is missing, never failed, and is measured by a later run",
    "no task, model, trial or answer is left out for what came out of it",
]


def design(
    study: Study, tasks: Sequence[Task | HeldOutTask], world_for: Callable[[Any, int], Hashed] = world_for
) -> dict[str, Any]:
    """Everything a result depends on and nothing of the machine, as it reads back from JSON."""
    plan = plan_for(gap_shells(study.shells))
    frozen = {
        "study": study.study,
        "task_set": set_name([task.id for task in tasks]),
        "tasks": {
            task.id: {
                "sha256": task.sha256,
                "prompt_sha256": task.prompt_sha256,
                "check_sha256": task.check_sha256,
                "worlds": {str(seed): world_for(task, seed).sha256 for seed in study.seeds},
                **({"folder_sha256": folder_sha256(task)} if task.private else {}),
            }
            for task in tasks
        },
        "models": {model.alias: _sampling(model) for model in study.models},
        "shells": list(study.shells),
        "trials": study.trials,
        "conditions": sorted(study.conditions),
        "seeds": study.seeds_sealed or list(study.seeds),
        "order_seed": study.order_seed,
        "limits": study.sandbox.limits.model_dump(mode="json"),
        "prompt": {"preamble": PREAMBLE, **{shell: SHELLS[shell].prompt_line for shell in study.shells}},
        "analysis": {"version": plan["version"], "sha256": plan_sha256(plan), "plan": plan},
        "code": {stage: code_sha256(stage) for stage in FROZEN},
        "sandbox_sha256": content_sha256(),
        "protocol": PROTOCOL,
        "exclusions": EXCLUSIONS,
    }
    document: dict[str, Any] = json.loads(pretty_json(frozen))
    return document


def _sampling(model: ModelConfig) -> dict[str, Any]:
    """How a model will be asked, as the policy table and the config resolve it; prices may change freely."""
    policy = resolve(model)
    return {
        "id": policy.model_id,
        "served_by": model.served_by,
        "base_url": model.base_url,
        "transport": model.transport,
        "temperature_requested": policy.temperature_requested,
        "temperature_sent": policy.temperature_sent,
        "on_refused_temperature": model.on_refused_temperature,
        "max_tokens": policy.max_tokens,
        "thinking": policy.thinking,
        "effort": policy.effort,
        "headers": dict(policy.headers),
        "extra_body": dict(policy.extra_body),
        "seeded": policy.seeded,
    } | {
        # Only where they say something: earlier registrations know none of them.
        key: value
        for key in ("wire", "interface", "region", "project")
        if (value := getattr(model, key)) not in ("messages", "reply", None)
    }


_MODEL_FIELDS = {
    "id": "model id",
    "base_url": "address of the endpoint",
    "served_by": "way of serving",
    "transport": "transport",
    "temperature_requested": "temperature requested",
    "temperature_sent": "temperature sent",
    "on_refused_temperature": "rule for a refused temperature",
    "max_tokens": "max_tokens",
    "thinking": "thinking",
    "effort": "effort",
    "headers": "headers",
    "extra_body": "further body fields",
    "seeded": "use of sampling seeds",
    "wire": "wire",
    "interface": "way that the command comes",
    "region": "region",
    "project": "project",
}
_TASK_FIELDS = {
    "prompt_sha256": "prompt",
    "check_sha256": "check",
    "worlds": "worlds",
    "sha256": "other text",
    "folder_sha256": "other files",
}
_CODE = {
    "generate": "code that asks",
    "execute": "code that executes",
    "score": "code that scores",
    "gather": "code that makes the table",
    "analyse": "code that analyses",
}
_PLAIN_FIELDS = {
    "task_set": "set of tasks",
    "shells": "shells",
    "trials": "trials",
    "conditions": "conditions",
    "seeds": "seeds of the worlds",
    "order_seed": "seed of the order of asking",
    "limits": "limits of an execution",
    "prompt": "words around a task's prompt",
    "analysis": "analysis plan",
    "sandbox_sha256": "sources of the sandbox image",
    "protocol": "protocol of asking",
    "exclusions": "exclusions",
}


def preregister(study: Study, tasks: Sequence[Task], decision: str, out: Path, *, utc: str | None = None) -> Path:
    """Write `<study>-<UTC date>.json` into the folder `out` and return its path; `utc` is now where it is not given.

    A frozen file is never written over: the same design registered again on its day leaves the earlier file, with its
    time, as it is. UserError without a decision, and when another registration of that study and day is there.
    """
    if not decision.strip():
        raise UserError(
            "a registration is for a decision",
            where="decision",
            hint='say which one: `make preregister DECISION="…"`, or put `decision:` into the study\'s file',
        )
    utc = utc or utc_now()
    commit, dirty = git_state()
    document = {
        "kind": KIND,
        "schema_version": SCHEMA_VERSION,
        "registered": utc[:10],
        "decision": decision.strip(),
        **design(study, tasks),
    }
    path = Path(out) / f"{study.study}-{utc[:10]}.json"
    made = {"registered_utc": utc, "commit": commit, "dirty": dirty}
    if not path.exists():
        write_atomic(path, pretty_json(with_self_hash(document | made)))
    elif {key: value for key, value in read_registration(path).items() if key not in {*made, KEY}} != document:
        raise UserError(
            "there is a registration of this study and day already",
            where=str(path),
            hint="a registration is not changed; name the study otherwise, or register it tomorrow",
        )
    return path


def followed(provenance: Provenance, study: Study, tasks: Sequence[Task]) -> Provenance:
    """The provenance with the registration that the study names and the deviations from it, if it names one."""
    if study.preregistration is None:
        return provenance
    path = ROOT / study.preregistration
    found = deviations(study, tasks, path, provenance.first_answer_utc)
    return provenance.model_copy(update={"registration": registered(study.preregistration, path), "deviations": found})


def registered(name: str, path: Path) -> Registered:
    """What a provenance says of the registration in `path`, which the study names so."""
    frozen = read_registration(path)
    made = (frozen.get(key) for key in ("registered_utc", "commit", "dirty"))
    return Registered(path=name, sha256=sha256_file(path), **dict(zip(("utc", "commit", "dirty"), made, strict=True)))


def deviations(
    study: Study,
    tasks: Sequence[Task | HeldOutTask],
    registration_path: Path,
    first_answer_utc: str | None = None,
    *,
    world_for: Callable[[Any, int], Hashed] = world_for,
) -> list[str]:
    """One sentence for each way in which the study is not the registered one; an empty list: none."""
    frozen = read_registration(registration_path)
    present = design(study, tasks, world_for)
    try:
        _as_far_as_frozen(frozen, present)
        earlier, now = frozen["code"], present["code"]  # a stage that was not frozen under its name counts as changed
        return [
            *_opened(frozen, present, study),
            *_order(frozen, first_answer_utc),
            *([f"registered for the study {frozen['study']}"] if frozen["study"] != study.study else []),
            *_decision(frozen["decision"], study.decision.strip()),
            *_entries("task", frozen["tasks"], present["tasks"], _TASK_FIELDS),
            *_entries("model", frozen["models"], present["models"], _MODEL_FIELDS),
            *_plain(frozen, present),
            *(f"{title} changed" for stage, title in _CODE.items() if earlier.get(stage) != now[stage]),
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"the registration lacks what it must hold ({error})", where=str(registration_path), hint="register anew"
        ) from None


def _as_far_as_frozen(frozen: dict[str, Any], present: dict[str, Any]) -> None:
    """Leave out of the comparison what an older registration did not yet freeze; the oldest do not say their time."""
    frozen.setdefault("task_set", present["task_set"])
    if frozen["schema_version"] == 1:  # its hash of the plan is of other JSON; the plan itself stands beside it
        present["analysis"]["sha256"] = frozen["analysis"]["sha256"]
    if "registered_utc" not in frozen:
        frozen["code"] = present["code"] | {"score": frozen["scoring_sha256"]}
        for model in present["models"].values():
            del model["base_url"]


def _opened(frozen: dict[str, Any], present: dict[str, Any], study: Study) -> list[str]:
    """Put the revealed seeds, and their worlds, in the place of a commitment; a sentence where they do not open it."""
    sealed = frozen["seeds"]
    if not isinstance(sealed, str):
        return []
    frozen["seeds"] = present["seeds"]
    for name, task in frozen["tasks"].items():
        if name in present["tasks"]:
            task["worlds"] = present["tasks"][name]["worlds"]
    if sealed == (study.seeds_sealed or seed_commitment(study.seeds, study.seeds_salt)):
        return []
    return ["seeds of the worlds: these seeds and this salt do not open the registered commitment"]


def _order(frozen: Mapping[str, Any], first_answer_utc: str | None) -> list[str]:
    """A registration that was not there when the first answer came; of an older one only the day is known."""
    made = frozen.get("registered_utc")
    if first_answer_utc is None or not is_time(first_answer_utc):
        return []
    late = parse_time(made) >= parse_time(first_answer_utc) if made else frozen["registered"] > first_answer_utc[:10]
    told = f"registered {made or frozen['registered']}, the first answer came {first_answer_utc}"
    return [f"registered after the first answer: {told}"] if late else []


def _decision(was: str, now: str) -> list[str]:
    if now == was:
        return []
    return [f"registered for another decision: {was}" if now else f"the study names no decision, registered for: {was}"]


def _plain(frozen: Mapping[str, Any], present: Mapping[str, Any]) -> list[str]:
    found = []
    for key, title in _PLAIN_FIELDS.items():
        if frozen[key] != present[key]:
            short = all(isinstance(side[key], int | list) for side in (frozen, present)) and key != "exclusions"
            was = f": registered {_words(frozen[key])}, now {_words(present[key])}" if short else " changed"
            found.append(f"{title}{was}")
    return found


def _entries(noun: str, frozen: Mapping[str, Any], present: Mapping[str, Any], fields: Mapping[str, str]) -> list[str]:
    """Deviations of named entries: gone, new, or changed in some fields."""
    found = [f"{noun} {name}: registered, not in the study" for name in frozen if name not in present]
    found += [f"{noun} {name}: in the study, not registered" for name in present if name not in frozen]
    for name in frozen:
        if name in present and frozen[name] != present[name]:
            changed = [key for key in fields if frozen[name].get(key) != present[name].get(key)]
            # A changed prompt or check changes the hashes of all too; such a hash is named only where it stands alone.
            for whole in ("folder_sha256", "sha256"):
                if len(changed) > 1 and whole in changed:
                    changed.remove(whole)
            found.append(f"{noun} {name}: {', '.join(fields[key] for key in changed) or 'content'} changed")
    return found


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
