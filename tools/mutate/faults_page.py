"""The results: how many faults were noticed, and by what; why the others were not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import yaml

from tools.mutate.faults import Fault
from tools.mutate.trial import Trial

EXPLAINED = Path(__file__).with_name("explained.yaml")
_INTRODUCTION = """# Do the tests notice?

The tool puts one random small fault at a time into the project's code: a comparison flipped, `and` for `or`, a `not`
dropped, a condition negated, a number changed by one, `*` for `/`, `min` for `max`, two arguments swapped. It runs
the tests that cover the line: for at most a minute those of the same package, then for twenty seconds others of the
same file and package, without tests that need the container engine. A fault is *noticed* if a test fails. It is
*explained* if no test should notice it (the program does the same, or only looks different), or if a test that a
minute does not reach was shown by hand to notice it. Otherwise it *survives*.

`make mutate N=300 SEED=1` writes this page. A known result is reused as long as the file and the test that noticed
the fault are unchanged. The explanations are in `tools/mutate/explained.yaml`.
"""

Reasons = list[dict[str, str]]


def read_reasons(path: Path = EXPLAINED) -> Reasons:
    """Entries of file, function, fault and reason; the first three may be patterns with `*`."""
    return list(yaml.safe_load(path.read_text(encoding="utf-8")) or [])


def reason_of(fault: Fault, reasons: Reasons) -> str | None:
    """Why a fault need not be noticed; None without an entry."""
    described = {
        "file": fault.file,
        "function": fault.function,
        "fault": f"{fault.before} → {fault.after}",
    }
    for entry in reasons:
        if all(fnmatchcase(text, _literal(entry.get(key, "*"))) for key, text in described.items()):
            return entry["reason"]
    return None


def _literal(pattern: str) -> str:
    """Only `*` is special: code is full of brackets."""
    return pattern.replace("[", "[[]").replace("?", "[?]")


def summary(trials: Sequence[Trial], reasons: Reasons) -> str:
    """One line: of how many faults how many were noticed, explained, neither."""
    noticed = sum(trial.by is not None for trial in trials)
    explained = sum(
        trial.by is None and reason_of(trial.fault, reasons) is not None for trial in trials
    )
    left = len(trials) - noticed - explained
    share = 1 - left / max(len(trials), 1)
    return f"{len(trials)} faults: {noticed} noticed, {explained} explained, {left} survive; {share:.1%} accounted for"


def page_of(trials: Sequence[Trial], reasons: Reasons, seed: int) -> str:
    """The page: a table of packages, the faults that no test noticed, and all faults."""
    packages: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        packages["/".join(Path(trial.fault.file).parts[:3])].append(trial)
    lines = [_INTRODUCTION, f"Seed {seed}: {summary(trials, reasons)}.", ""]
    lines += ["| Package | Faults | Noticed | Explained | Survive |", "|---|---:|---:|---:|---:|"]
    for name, group in sorted(packages.items()):
        silent = [trial for trial in group if trial.by is None]
        known = sum(reason_of(trial.fault, reasons) is not None for trial in silent)
        lines.append(
            f"| `{name}` | {len(group)} | {len(group) - len(silent)} | {known} | {len(silent) - known} |"
        )
    lines += ["", "## Not noticed", ""]
    lines += ["| File | Line | Function | Fault | Why |", "|---|---:|---|---|---|"]
    for trial in (trial for trial in trials if trial.by is None):
        fault, why = trial.fault, reason_of(trial.fault, reasons) or "**survives**"
        lines.append(
            f"| `{fault.file}` | {fault.line} | `{fault.function}` | {_change(fault)} | {_cell(why)} |"
        )
    lines += ["", "## All", "", "| File | Line | Fault | Noticed by |", "|---|---:|---|---|"]
    for trial in trials:
        by = _cell(f"`{trial.by}`") if trial.by else "-"
        lines.append(
            f"| `{trial.fault.file}` | {trial.fault.line} | {_change(trial.fault)} | {by} |"
        )
    return "\n".join(lines) + "\n"


def _change(fault: Fault) -> str:
    return _cell(f"`{_short(fault.before)}` → `{_short(fault.after)}`")


def _short(text: str, most: int = 80) -> str:
    line = " ".join(text.split()).replace("`", "'")
    return line if len(line) <= most else line[: most - 1] + "…"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
