"""Pre-registration: what a study will ask, run and conclude from, frozen before the first answer is bought.

A study names the file by `preregistration:`; the report then states every deviation from it, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fluency.archive.design import design
from fluency.archive.registration_file import KIND, SCHEMA_VERSION, read_registration
from fluency.common import clock
from fluency.common.errors import UserError
from fluency.common.files import pretty_json, sha256_file, write_atomic
from fluency.common.paths import ROOT
from fluency.common.self_hash import with_self_hash
from fluency.core.provenance import Registered
from fluency.core.study import Study
from fluency.core.task_world import world_for
from fluency.core.tasks import Task
from fluency.world import World

_MODEL_FIELDS = {
    "id": "model id",
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
}
_TASK_FIELDS = {"prompt_sha256": "prompt", "check_sha256": "check", "worlds": "worlds", "sha256": "other text"}
_PLAIN_FIELDS = {
    "shells": "shells",
    "trials": "trials",
    "conditions": "conditions",
    "seeds": "seeds of the worlds",
    "order_seed": "seed of the order of asking",
    "limits": "limits of an execution",
    "prompt": "words around a task's prompt",
    "analysis": "analysis plan",
    "scoring_sha256": "code that judges",
    "sandbox_sha256": "sources of the sandbox image",
    "protocol": "protocol of asking",
    "exclusions": "exclusions",
}


def preregister(study: Study, tasks: Sequence[Task], decision: str, out: Path, *, utc_date: str | None = None) -> Path:
    """Write `<study>-<UTC date>.json` into the folder `out` and return its path.

    UserError without a decision, and when another registration of that study and day is there: a frozen file is
    never written over.
    """
    if not decision.strip():
        raise UserError(
            "a registration is for a decision",
            where="decision",
            hint='say which one: `make preregister DECISION="…"`, or put `decision:` into the study\'s file',
        )
    date = utc_date or clock.utc_date()
    document = {
        "kind": KIND,
        "schema_version": SCHEMA_VERSION,
        "registered": date,
        "decision": decision.strip(),
        **design(study, tasks),
    }
    path = Path(out) / f"{study.study}-{date}.json"
    data = pretty_json(with_self_hash(document))
    if path.exists() and path.read_text(encoding="utf-8") != data:
        raise UserError(
            "there is a registration of this study and day already",
            where=str(path),
            hint="a registration is not changed; name the study otherwise, or register it tomorrow",
        )
    write_atomic(path, data)
    return path


def followed(study: Study, tasks: Sequence[Task]) -> tuple[Registered | None, list[str]]:
    """The registration a study names and its deviations from it; None and no deviations where it names none."""
    if study.preregistration is None:
        return None, []
    path = ROOT / study.preregistration
    return Registered(path=study.preregistration, sha256=sha256_file(path)), deviations(study, tasks, path)


def deviations(
    study: Study,
    tasks: Sequence[Task],
    registration_path: Path,
    *,
    world_for: Callable[[Task, int], World] = world_for,
) -> list[str]:
    """One sentence for each way in which the study is not the registered one; an empty list: none."""
    frozen = read_registration(registration_path)
    present = design(study, tasks, world_for)
    try:
        if frozen["schema_version"] == 1:  # its hash of the plan is of other JSON; the plan itself stands beside it
            present["analysis"]["sha256"] = frozen["analysis"]["sha256"]
        found = [
            *([f"registered for the study {frozen['study']}"] if frozen["study"] != study.study else []),
            *_entries("task", frozen["tasks"], present["tasks"], _TASK_FIELDS),
            *_entries("model", frozen["models"], present["models"], _MODEL_FIELDS),
            *_plain(frozen, present),
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"the registration lacks what it must hold ({error})", where=str(registration_path), hint="register anew"
        ) from None
    if study.decision and study.decision.strip() != frozen["decision"]:
        found.append(f"registered for another decision: {frozen['decision']}")
    return found


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
            # A changed prompt or check changes the task's hash too; it is named only where it stands alone.
            if len(changed) > 1 and "sha256" in changed:
                changed.remove("sha256")
            found.append(f"{noun} {name}: {', '.join(fields[key] for key in changed) or 'content'} changed")
    return found


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
