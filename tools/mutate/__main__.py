"""`make mutate N=… SEED=…`: put random faults into a copy of the tree, one at a time, and report who notices."""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from fluency.common.files import sha256, write_atomic
from fluency.common.paths import CACHE, ROOT
from fluency.common.terminal import log_line
from tools.mutate.baseline import Project, measure
from tools.mutate.faults import Fault, faults_of
from tools.mutate.faults_page import page_of, read_reasons, reason_of, summary
from tools.mutate.trial import Trial, Trials

PACKAGES = ("scoring", "analysis", "generation", "archive", "report", "world", "core")
PAGE = Path(__file__).with_name("results.md")
PRODUCT = Project(
    ROOT,
    sources=tuple(f"scripts/fluency/{package}" for package in PACKAGES),
    options=("-m", "not engine", "--ignore=tests/project", "--ignore=tests/mutate"),
)


def drawn(project: Project, count: int, seed: int) -> list[Fault]:
    """`count` faults of different nodes, every node of the sources with the same chance; the same for the same tree."""
    places: dict[tuple[str, int], list[Fault]] = defaultdict(list)
    for file in project.mutable():
        for fault in faults_of(file, (project.root / file).read_text(encoding="utf-8")):
            places[file, fault.place].append(fault)
    rng = random.Random(seed)
    chosen = sorted(rng.sample(sorted(places), min(count, len(places))))
    return [rng.choice(places[place]) for place in chosen]


def try_all(
    project: Project,
    faults: Sequence[Fault],
    cache: Path,
    workers: int,
    say: Callable[[str], object] = lambda _: None,
) -> list[Trial]:
    """The trial of each fault; those in `cache` that are still valid are not run again."""
    files = project.hashes()
    log = cache / "trials.jsonl"
    known = _known(log, files)
    todo = [fault for fault in faults if fault not in known]
    with tempfile.TemporaryDirectory(prefix="mutate-") as name:
        folder = Path(name).resolve()
        if todo:
            (folder / "baseline").mkdir()
            project.copy_to(folder / "baseline")
            baseline = measure(project, folder / "baseline", cache / "baseline.json")
            say(
                f"{len(baseline.seconds)} tests pass without a fault, in {sum(baseline.seconds.values()):.0f} s"
            )
            with log.open("a", encoding="utf-8") as stream:
                for number, trial in enumerate(
                    Trials(project, baseline, folder, workers).run(todo), 1
                ):
                    known[trial.fault] = trial
                    stream.write(json.dumps({"of": _of(trial, files)} | asdict(trial)) + "\n")
                    stream.flush()
                    fault = trial.fault
                    say(
                        f"{number}/{len(todo)} {fault.file}:{fault.line} {trial.by or 'NOT NOTICED: ' + fault.after}"
                    )
    return [known[fault] for fault in faults]


def _of(trial: Trial, files: Mapping[str, str]) -> str:
    """Hash of the files that a trial is valid for: a noticed fault's own and its test's, else the whole tree."""
    parts = (
        files
        if trial.by is None
        else {trial.fault.file, trial.by.partition("::")[0]} & files.keys()
    )
    return sha256("".join(f"{name} {files[name]}\n" for name in sorted(parts)))


def _known(log: Path, files: Mapping[str, str]) -> dict[Fault, Trial]:
    known = {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.is_file() else []:
        if line.endswith("}"):
            value = json.loads(line)
            trial = Trial(Fault(**value["fault"]), value["by"], value["tests"])
            if value["of"] == _of(trial, files):
                known[trial.fault] = trial
    return known


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the faults, write the page and print what is left; 1 if a fault survives unexplained."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    parser.add_argument("-n", type=int, default=60, help="how many faults")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    reasons = read_reasons()
    faults = drawn(PRODUCT, options.n, options.seed)
    trials = try_all(PRODUCT, faults, CACHE / "mutate", options.workers, log_line)
    write_atomic(options.page, page_of(trials, reasons, options.seed))
    left = [
        trial.fault
        for trial in trials
        if trial.by is None and reason_of(trial.fault, reasons) is None
    ]
    for fault in left:
        print(
            f"survives: {fault.file}:{fault.line} {fault.function}: {fault.before} → {fault.after}"
        )
    print(summary(trials, reasons))
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
