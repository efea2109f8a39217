"""Pre-registration: what a study will ask, run and conclude from, frozen before the first answer is bought.

A study names the file by `preregistration:`; the report then states every deviation from it, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fluency.archive.design import design
from fluency.archive.private_part import Hashed
from fluency.archive.registration_file import KIND, SCHEMA_VERSION, read_registration
from fluency.common.canonical import KEY, with_self_hash
from fluency.common.clock import is_time, parse_time, utc_now
from fluency.common.errors import UserError
from fluency.common.files import pretty_json, sha256_file, write_atomic
from fluency.common.git import git_state
from fluency.common.paths import ROOT
from fluency.core.provenance import Provenance, Registered
from fluency.core.study import Study, seed_commitment
from fluency.core.task_world import world_for
from fluency.core.tasks import Task

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
    "asking": "code that asks",
    "command": "code that reads the command out of a reply",
    "execution": "code that executes",
    "scoring": "code that judges",
    "table": "code that lays the table",
    "analysis": "code that analyses",
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
    tasks: Sequence[Task],
    registration_path: Path,
    first_answer_utc: str | None = None,
    *,
    world_for: Callable[[Task, int], Hashed] = world_for,
) -> list[str]:
    """One sentence for each way in which the study is not the registered one; an empty list: none."""
    frozen = read_registration(registration_path)
    present = design(study, tasks, world_for)
    try:
        _as_far_as_frozen(frozen, present)
        return [
            *_opened(frozen, present, study),
            *_order(frozen, first_answer_utc),
            *([f"registered for the study {frozen['study']}"] if frozen["study"] != study.study else []),
            *_decision(frozen["decision"], study.decision.strip()),
            *_entries("task", frozen["tasks"], present["tasks"], _TASK_FIELDS),
            *_entries("model", frozen["models"], present["models"], _MODEL_FIELDS),
            *_plain(frozen, present),
            *(f"{title} changed" for stage, title in _CODE.items() if frozen["code"][stage] != present["code"][stage]),
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
        frozen["code"] = present["code"] | {"scoring": frozen["scoring_sha256"]}
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
