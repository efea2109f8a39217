"""`make chaos N=… SEED=…`: disturb runs of a study at random moments, and write a page of the results."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from random import Random

from fluency.common.files import sha256, sha256_file, write_atomic
from fluency.common.paths import CACHE, ROOT
from fluency.common.terminal import log_line
from tests.workflow.project import PARTS
from tools.chaos.engine import OwnEngine, own_engine
from tools.chaos.faults import FAULTS
from tools.chaos.page import USUAL, page_of
from tools.chaos.study_run import Size
from tools.chaos.trial import Trial, try_fault, undisturbed

PAGE = Path(__file__).with_name("results.md")


def kinds(count: int, seed: int, possible: Sequence[str]) -> list[str]:
    """The fault of each trial: all in turn, each round in a random order."""
    drawn: list[str] = []
    for turn in range(-(-count // max(len(possible), 1))):
        drawn += Random(f"{seed} {turn}").sample(list(possible), len(possible))
    return drawn[:count]


def code_sha256() -> str:
    """Changes with the code of a run: trials of other code are not reused."""
    paths = [ROOT / part for part in PARTS]
    files = [
        file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
    ]
    wanted = [file for file in files if file.is_file() and not {"__pycache__"} & set(file.parts)]
    return sha256(
        "".join(
            f"{file.relative_to(ROOT)} {sha256_file(file)}\n"
            for file in wanted
            if ".egg" not in str(file)
        )
    )


def campaign(
    count: int, seed: int, size: Size, gone_s: float, folder: Path
) -> tuple[list[Trial], float, list[str]]:
    """The trials, those of an earlier call included; the seconds of an undisturbed run; what cannot be done here."""
    why = {kind: fault.why_not() for kind, fault in FAULTS.items()}
    possible = [kind for kind, reason in why.items() if reason is None]
    skipped = [f"{FAULTS[kind].title}, since {reason}" for kind, reason in why.items() if reason]
    folder.mkdir(parents=True, exist_ok=True)
    log, known = folder / "trials.jsonl", {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        if line.endswith("}"):
            trial = Trial(**json.loads(line))
            known[trial.number] = trial
    drawn = list(enumerate(kinds(count, seed, possible), 1))
    todo = [(number, kind) for number, kind in drawn if number not in known]
    reference = folder / "undisturbed.json"
    if not reference.exists():
        log_line(f"first an undisturbed run of {size.cells} cells")
        write_atomic(reference, json.dumps(undisturbed(size)))
    expected, seconds = json.loads(reference.read_text(encoding="utf-8"))
    with ExitStack() as stack, log.open("a", encoding="utf-8") as stream:
        engine: OwnEngine | None = None
        for number, kind in todo:
            if FAULTS[kind].needs_engine and engine is None:
                engine = stack.enter_context(own_engine())
            chance = Random(f"{seed} {number}")
            trial = try_fault(number, kind, size, expected, chance, engine, gone_s)
            known[number] = trial
            stream.write(json.dumps(asdict(trial)) + "\n")
            stream.flush()
            log_line(f"{number}/{count} {kind}: {_in_words(trial)}")
    return [known[number] for number, _ in drawn if number in known], seconds, skipped


def _in_words(trial: Trial) -> str:
    done = f"disturbed at {trial.records_before} records, finished after {trial.runs_after} more in {trial.finish_s:.0f} s"
    return f"{done}; {'; '.join(trial.problems)}" if trial.problems else done


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the faults, write the page; 1 if a promise was not kept."""
    parser = argparse.ArgumentParser(prog="python -m tools.chaos", description=__doc__)
    parser.add_argument("-n", type=int, default=USUAL, help="how many trials")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=20, help="tasks of the pilot set")
    parser.add_argument("--trials", type=int, default=5, help="of each cell")
    parser.add_argument("--gone-s", type=float, default=60, help="how long the endpoint is gone")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    size = Size(options.tasks, options.trials)
    folder = (
        CACHE
        / "chaos"
        / f"{code_sha256()[:16]}-{options.seed}-{size.tasks}x{size.trials}-{options.gone_s:g}"
    )
    trials, seconds, skipped = campaign(options.n, options.seed, size, options.gone_s, folder)
    write_atomic(options.page, page_of(trials, seconds, options.seed, skipped))
    failed = [trial for trial in trials if trial.problems]
    print(
        f"{len(trials)} trials of {size.cells} cells: {len(trials) - len(failed)} passed; see {options.page}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
