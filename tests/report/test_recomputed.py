"""Every number of a report, computed again from cells.csv as docs/method.md defines it.

`STUDIES=300 pytest tests/report/test_recomputed.py` takes more random studies of all shapes.
"""

import csv
import os
import random
import re
from collections import defaultdict
from fractions import Fraction
from math import comb, exp, inf, log, sqrt
from statistics import fmean, quantiles, stdev

import numpy as np
import pytest
from scipy import stats

from fluency.core.shells import DESIGN_SHELLS
from fluency.report.report import write_report
from tests.report.test_claims import TITLES, interval_of, made_study, mean, value
from tests.synthetic_tables import view_of

STUDIES = int(os.environ.get("STUDIES", "6"))
NUMBER = re.compile(r"[−+]?\d[\d,]*(?:\.\d+)?")
LABELS = {
    "headline": "passed",
    "lenient reading": "lenient_passed",
    "structure only": "structural_pass",
    "exit only": "exit_ok",
    "output only": "content_ok",
    "without Unix tools": "no_unix_tools_passed",
    "with Windows aliases": "windows_aliases_passed",
}
CONDITIONS = [*LABELS][-2:]
OTHERS = ["refusals left out", "delegation failed", "missing programs left out"]
DEFINITIONS = [*[*LABELS][:-2], *OTHERS, "missing programs passed", *CONDITIONS]
ROWS = {
    "less than 5 pp either way": lambda gap: abs(gap) < Fraction(1, 20),
    "5 to 10 pp either way": lambda gap: Fraction(1, 20) <= abs(gap) < Fraction(1, 10),
    "PowerShell ahead by 10 pp or more": lambda gap: gap >= Fraction(1, 10),
    "Bash ahead by 10 pp or more": lambda gap: gap <= Fraction(-1, 10),
}


def varied(frame, seed):
    """The frame with marks, costs and times that differ from run to run, some of them unknown."""
    rng = random.Random(seed)
    answered = frame["outcome"].notna()
    for place in frame.index[answered]:
        row = {name: frame.at[place, name] for name in ("passed", "shell")}
        measured = frame.at[place, "status"] == "measured"
        marks = {"output_tokens": rng.randint(4, 90), "cost_usd": rng.random() / 500}
        marks["outcome"] = (
            rng.choice(["ok"] * 9 + ["refusal"]) if row["passed"] is not True else "ok"
        )
        if measured:
            fails = not row["passed"]
            kinds = ["timeout", "missing-program", "silent-wrong"]
            marks |= {
                "failure_class": rng.choice(kinds) if fails else None,
                "exit_ok": not fails or rng.random() < 0.3,
                "structural_pass": not fails or rng.random() < 0.3,
                "content_ok": not fails or rng.random() < 0.1,
                "lenient_passed": not fails or rng.random() < 0.2,
                "unasked_changes": rng.choice([0] * 30 + [2, None]),
                "made_of": rng.choice(["cmdlets-only", "mixed", "delegation", None]),
            }
            marks["quiet"] = bool(fails and marks["exit_ok"] and rng.random() < 0.7)
            if row["shell"] == "pwsh":
                marks["no_unix_tools_passed"] = rng.choice([True, False] * 10 + [None])
            if fails and rng.random() < 0.1:
                marks |= dict.fromkeys(("command", "t_exec_s", "no_unix_tools_passed"))
        for name, mark in marks.items():
            frame.at[place, name] = mark
    return frame


class Runs(list):
    """Rows of cells.csv."""

    def of(self, **fixed) -> "Runs":
        return Runs(row for row in self if all(row[name] == text for name, text in fixed.items()))

    def sum(self, name):
        return sum(float(row[name] or 0) for row in self)


def mark_of(row, label):
    """Whether a run passes by a definition; None if that is not known."""
    passed = {"True": True, "False": False}.get(row["passed"])
    lacks = row["failure_class"] == "missing-program"
    if label == "refusals left out":
        return None if row["outcome"] == "refusal" else passed
    if label == "delegation failed":
        return passed and row["made_of"] != "delegation" if passed is not None else None
    if label == "missing programs left out":
        return None if lacks else passed
    if label == "missing programs passed":
        return (lacks or passed) if passed is not None else None
    if label in CONDITIONS and row["shell"] != "pwsh":
        return passed
    found = {"True": True, "False": False}.get(row[LABELS.get(label, label)])
    if label in CONDITIONS and found is None and not row["command"] and passed is False:
        return False
    return found


def counts(runs: Runs, label, study, tasks):
    """Shell -> task -> passes and measured trials."""
    mark = label if callable(label) else lambda row: mark_of(row, label)
    found = {shell: {task: [0, 0] for task in tasks} for shell in (*study.shells, *DESIGN_SHELLS)}
    for row in runs.of(status="measured"):
        passed = mark(row)
        if passed is not None:
            found[row["shell"]][row["task"]][0] += passed
            found[row["shell"]][row["task"]][1] += 1
    return found


class Gap:
    """The gap of two shells' counts, over the tasks with half of the trials in both."""

    def __init__(self, found, trials, kept=None):
        pair = [found[shell] for shell in DESIGN_SHELLS]
        self.tasks = [
            t
            for t in pair[0]
            if (kept is None or t in kept)
            and min(own[t][1] for own in pair) * 2 >= trials
            and pair[0][t][1]
        ]
        self.counts = [[own[task] for task in self.tasks] for own in pair]
        self.rates = [[Fraction(c, n) for c, n in own] for own in self.counts]
        if self.tasks:
            self.means = [mean(own) for own in self.rates]
            self.apart = [b - a for a, b in zip(*self.rates, strict=True)]
            self.gap = mean(self.apart)
            self.interval = interval_of(self.apart, self.means, 1) if len(self.tasks) > 1 else None
            self.sd = stdev(map(float, self.apart)) if len(self.tasks) > 1 else 0.0
            self.near_edge = any(
                not Fraction(1, 10) < rate < Fraction(9, 10) for rate in self.means
            )

    def numbers(self):
        """As a sentence has them: both rates, the gap and its interval."""
        return [100 * float(n) for n in (*self.means, self.gap)] + [*self.interval]


def shell_of(title):
    return next(shell for shell, name in TITLES.items() if title.startswith(name))


def numbers(text):
    return [value(found.replace(",", "")) for found in NUMBER.findall(text)]


def same(text, expected, why=None, by=0.0501):
    assert numbers(text) == pytest.approx([float(each) for each in expected], abs=by), (why, text)


def rows_below(text, start):
    """The rows of the first table after some words, its head first."""
    table = re.search(r"(?:^\|.*\n)+", text[text.index(start) :], re.M)[0].splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table if "---" not in line
    ]


def power(spread, tasks, margin, near_edge):
    """By quantile of the sample's variance: how often margin less the half-width is above noise."""
    squares = spread**2 * stats.chi2.ppf((np.arange(200) + 0.5) / 200, tasks - 1)
    half = stats.t.ppf(0.975, tasks - 1) * np.sqrt(squares / (tasks - 1) / tasks)
    if near_edge:
        error = np.sqrt((squares + 0.5) / ((tasks + 1) * (tasks + 2)))
        half = np.maximum(half, stats.t.ppf(0.975, tasks + 1) * error)
    return [*stats.norm.cdf((margin - half) * sqrt(tasks) / spread)]


def finds(spread, tasks, near_edge):
    return fmean(power(spread, tasks, 0.10, near_edge))


def excludes(spread, tasks, near_edge):
    return fmean(max(0, 2 * share - 1) for share in power(spread, tasks, 0.05, near_edge))


def is_smallest(size, share, spread, near_edge):
    return share(spread, size, near_edge) >= 0.8 and (
        size == 2 or share(spread, size - 1, near_edge) < 0.8
    )


def clopper(seen, size):
    found = stats.binomtest(seen, size).proportion_ci(0.95, "exact")
    return 100 * found.low, 100 * found.high


def first_pass(trials: Runs, planned):
    """Seconds until the first pass; None if they are not known."""
    total = 0.0
    by_number = {int(row["trial"]): row for row in trials}
    for number in range(1, planned + 1):
        if total >= 60:
            return 60.0
        row = by_number.get(number)
        if row is None or not row["t_gen_s"]:
            return None
        total += float(row["t_gen_s"]) + float(row["t_exec_s"] or 0)
        if row["passed"] == "True":
            return min(total, 60.0)
    return 60.0


def check_first_page(page, model, runs: Runs, gap: Gap, study, tasks):
    part = page[page.index(f"Quiet wrong answers of {model}:") :].split("\n\n")[0].split("\n- ")
    known = lambda row: {"True": True, "False": False}.get(row["passed"])  # noqa: E731
    quiet = Gap(counts(runs, lambda row: row["quiet"] == "True", study, tasks), study.trials)
    status = Gap(
        counts(runs, lambda row: row["exit_ok"] == "True" and not known(row), study, tasks),
        study.trials,
    )
    said = part[0].removeprefix(f"Quiet wrong answers of {model}").split("Wrong with status 0")
    same(said[0].replace("95 %", ""), quiet.numbers(), model)
    same(said[1], status.numbers(), model)
    seen = {
        shell: {
            r["task"]
            for r in runs.of(status="measured", shell=shell)
            if float(r["unasked_changes"] or 0) > 0
        }
        & {*gap.tasks}
        for shell in DESIGN_SHELLS
    }
    size, (a, b) = len(gap.tasks), seen.values()
    expected = [n for own in (a, b) for n in (len(own), size, *clopper(len(own), size))]
    only = len(a - b), len(b - a)
    p = min(1.0, 2 * sum(comb(sum(only), k) for k in range(min(only) + 1)) / 2 ** sum(only))
    unknown = [
        sum(
            not r["unasked_changes"]
            for r in runs.of(status="measured", shell=shell)
            if r["task"] in gap.tasks
        )
        for shell in DESIGN_SHELLS
    ]
    same(part[1], [*expected, *([p] if p < 1 else []), *filter(None, unknown)], (model, only))
    kinds = {row["task"]: row["category"] for row in runs}
    by_kind = defaultdict(list)
    for task, apart in zip(gap.tasks, gap.apart, strict=True):
        by_kind[kinds[task]].append(apart)
    same(
        part[2].split(":")[1],
        [n for own in by_kind.values() for n in (100 * mean(own), len(own))],
        model,
    )


def check_sensitivities(part, runs: Runs, gap: Gap, study, tasks, needs):
    lines = rows_below(part, "| a pass is")[1:]
    assert [line[0].split(":")[0] for line in lines] == DEFINITIONS
    for label, bash, pwsh, value_, interval, size, row in lines:
        found = Gap(counts(runs, label.split(":")[0], study, tasks), study.trials)
        assert int(size) == len(found.tasks), label
        if not found.tasks:
            assert row == "not measured in both shells"
            continue
        for cell, own, rate in zip((bash, pwsh), found.counts, found.means, strict=True):
            same(cell, [100 * rate, sum(c for c, _ in own), sum(n for _, n in own)], label)
        same(value_, [100 * found.gap], label)
        assert ROWS[row](found.gap), label
        if found.interval:
            same(interval, found.interval, label)
    leans = {task.id: task.lean for task in needs}
    for name, size, value_, interval, _ in (
        rows_below(part, "| part of the tasks")[1:] if "| part of" in part else ()
    ):
        dropped = [shell for shell, title in TITLES.items() if title in name]
        kept = {task for task in tasks if leans[task] not in dropped}
        found = Gap(counts(runs, "headline", study, tasks), study.trials, kept)
        assert int(size) == len(kept), name
        if found.tasks and found.interval:
            same(value_, [100 * found.gap], name)
            same(interval, found.interval, name)
    same(
        re.search(r"Standard deviation.*?: (.*) differ", part)[1],
        [100 * gap.sd, len(gap.tasks), sum(d != 0 for d in gap.apart)],
    )
    if needed := re.search(
        r"With this spread, 80 % of studies with about (\d+) tasks.*takes about (\d+)", part
    ):
        assert is_smallest(int(needed[1]), finds, gap.sd, gap.near_edge)
        assert is_smallest(int(needed[2]), excludes, gap.sd, gap.near_edge)
    kinds = {row["task"]: row["category"] for row in runs}
    for noun, own in (("task", gap.tasks), ("category", [kinds[task] for task in gap.tasks])):
        if len({*own}) < 2:
            continue
        left = {
            name: mean([d for d, other in zip(gap.apart, own, strict=True) if other != name])
            for name in own
        }
        said = re.search(rf"Leaving one {noun} out: (.*) pp; (.*)\.", part)
        same(said[1], [100 * min(left.values()), 100 * max(left.values())], noun)
        row = next(row for row in ROWS.values() if row(gap.gap))
        flips = [name for name in left if not row(left[name])]
        assert (
            (f"without {', '.join(flips)} ({len(flips)} of" in said[2])
            if flips
            else "stays the same" in said[2]
        )
    flat = sum(a == b and a in (0, 1) for a, b in zip(*gap.rates, strict=True))
    same(
        re.search(r"can tell the shells apart: (\d+ of \d+)", part)[1],
        [len(gap.tasks) - flat, len(gap.tasks)],
    )


def check_pass_k(page, model, runs: Runs, study, tasks):
    if study.trials == 1:
        return
    found = counts(runs, "headline", study, tasks)
    row = next(row for row in rows_below(page, "At least one of") if row[0] == model)
    shells = sorted({*study.shells, *DESIGN_SHELLS}, key=["bash", "pwsh", "zsh"].index)
    ever = {s: {t: c > 0 for t, (c, n) in found[s].items() if n == study.trials} for s in shells}
    for cell, shell in zip(row[1:], shells, strict=False):
        seen, size = sum(ever[shell].values()), len(ever[shell])
        if size:
            same(cell, [100 * seen / size, size, *clopper(seen, size)], shell)
    both = [(ever["bash"][t], ever["pwsh"][t]) for t in ever["bash"] if t in ever["pwsh"]]
    kinds = [(True, True), (False, True), (True, False), (False, False)]
    assert [int(cell) for cell in row[-4:]] == [both.count(kind) for kind in kinds]
    if both:
        same(row[-5], [100 * (both.count(kinds[1]) - both.count(kinds[2])) / len(both)])


def check_times(page, names, runs: Runs, gap: Gap | None, study):
    firsts = {
        shell: {
            task: first_pass(runs.of(shell=shell, task=task, status="measured"), study.trials)
            for task in {row["task"] for row in runs.of(shell=shell, status="measured")}
        }
        for shell in study.shells
        if runs.of(shell=shell, status="measured")
    }
    shared = [
        t
        for t in next(iter(firsts.values()), {})
        if all(own.get(t) is not None for own in firsts.values())
    ]
    for row in rows_below(page, "*t_exec*, the command alone")[1:]:
        if row[0] != names[0]:
            continue
        own = runs.of(shell=shell_of(row[1]), status="measured")
        passed = own.of(passed="True")
        assert row[2].startswith(str(len(passed)))
        for cell, columns in ((row[3], ("t_gen_s", "t_exec_s")), (row[4], ("t_exec_s",))):
            seconds = sorted(sum(float(r[name]) for name in columns) for r in passed)
            if not seconds:
                assert cell == "n/a"
                continue
            q = (
                [seconds[0]] * 3
                if len(seconds) == 1
                else quantiles(seconds, n=4, method="inclusive")
            )
            units = [0.001 if unit == "ms" else 1 for unit in re.findall(r"\b(ms|s)\b", cell)]
            shown = [n * unit for n, unit in zip(numbers(cell), units, strict=True)]
            assert shown == pytest.approx([q[1], q[0], q[2]], abs=0.0501), cell
        if shared and shell_of(row[1]) in firsts:
            same(row[6], [fmean(firsts[shell_of(row[1])][t] for t in shared), len(shared)])
        tasks = {r["task"] for r in own}
        assert row[7] == f"{len(tasks - {r['task'] for r in passed})}/{len(tasks)}"
    if gap is None or not gap.tasks:
        return
    for row in (
        rows_below(page, "### For each passed run")[1:] if "### For each passed run" in page else ()
    ):
        if row[0] != names[1]:
            continue
        columns = {
            "output tokens": ["output_tokens"],
            "dollars": ["cost_usd"],
            "seconds": ["t_gen_s", "t_exec_s"],
        }[row[1]]
        each, terms = [], []
        for shell, own in zip(DESIGN_SHELLS, gap.counts, strict=True):
            costs = [
                sum(runs.of(shell=shell, task=task, status="measured").sum(c) for c in columns)
                for task in gap.tasks
            ]
            passes = [c for c, _ in own]
            each.append(sum(costs) / sum(passes) if sum(passes) else inf)
            if sum(passes):
                terms.append(
                    [
                        c / fmean(costs) - p / fmean(passes)
                        for c, p in zip(costs, passes, strict=True)
                    ]
                )
        for cell, found in zip(row[2:4], each, strict=True):
            assert (
                (cell == "n/a")
                if found == inf
                else numbers(cell) == pytest.approx([found], rel=0.01)
            ), row
        if min(gap.means) <= Fraction(1, 10) or len(gap.tasks) < 2:
            assert row[4] == "n/a"
            continue
        z = [b - a for a, b in zip(*terms, strict=True)]
        half = stats.t.ppf(0.975, len(z) - 1) * stdev(z) / sqrt(len(z))
        centre = log(each[1] / each[0])
        same(row[4], [exp(centre), exp(centre - half), exp(centre + half)], row, by=0.00501)


@pytest.mark.parametrize("seed", range(STUDIES))
def test_report_has_the_numbers_of_the_method(seed, tmp_path, zsh):
    study, needs, frame = made_study(seed)
    leans = random.Random(seed).choice([(None,), ("bash", "neutral", "pwsh")])
    for place, task in enumerate(needs):
        task.lean = leans[place % len(leans)]
    frame = varied(frame, seed)
    frame.to_csv(tmp_path / "cells.csv", index=False)
    write_report(tmp_path / "report.md", frame, view_of(study, needs))
    page = (tmp_path / "report.md").read_text()
    with (tmp_path / "cells.csv").open() as file:
        cells = Runs(csv.DictReader(file))
    tasks = [task.id for task in needs]
    results = {row[0]: row for row in rows_below(page, "| model")}
    for model in study.models:
        runs = cells.of(model=model.alias)
        found = counts(runs, "headline", study, tasks)
        gap = Gap(found, study.trials)
        # With a third shell there is a row for each challenger.
        name = f"{model.alias}, PowerShell" if len(study.shells) > 2 else model.alias
        check_pass_k(page, name, runs, study, tasks)
        check_times(page, (model.alias, name), runs, gap, study)
        for line in rows_below(page, "### Runs")[1:]:
            if line[0] == model.alias:
                own = runs.of(shell=shell_of(line[1]))
                assert [*map(int, line[2:5])] == [
                    len(own),
                    len(own.of(status="measured")),
                    len(own.of(status="missing")),
                ]
        if not gap.tasks:
            continue
        row = results[name]
        for cell, own, rate in zip(row[1:], gap.counts, gap.means, strict=False):
            same(cell, [100 * rate, sum(c for c, _ in own), sum(n for _, n in own)], model.alias)
        if f"Quiet wrong answers of {name}:" in page:
            check_first_page(page, name, runs, gap, study, tasks)
        decide = re.search(r"about (\d+) more tasks", row[-1])
        if decide:
            size = len(gap.tasks) + int(decide[1])
            ahead = is_smallest(size, finds, gap.sd, gap.near_edge)
            assert ahead or is_smallest(size, excludes, gap.sd, gap.near_edge), row
        if share := re.search(
            r"bank's (\d+)(?: for &#36;([\d.]+))? find 10 points in (\d+)", row[-1]
        ):
            assert int(share[3]) == pytest.approx(
                100 * finds(gap.sd, int(share[1]), gap.near_edge), abs=0.51
            )
            usd = sum(
                fmean(float(r["cost_usd"]) for r in runs.of(shell=s) if r["outcome"])
                for s in DESIGN_SHELLS
            )
            assert not share[2] or float(share[2]) == pytest.approx(
                usd * study.trials * int(share[1]), abs=0.006
            )
        section = (
            page[page.index("## Sensitivities") :].split(f"### {name}\n")[1].split("\n### ")[0]
        )
        check_sensitivities(section, runs, gap, study, tasks, needs)
        failed = (
            page[page.index("## Failures") :].split(f"### {model.alias}\n")[1].split("\n### ")[0]
        )
        for line in (
            rows_below(failed, "| failure class")[1:] if "| failure class" in failed else ()
        ):
            own = [
                runs.of(status="measured", shell=s)
                for s in sorted({*study.shells, *DESIGN_SHELLS}, key=[*TITLES].index)
            ]
            for cell, part in zip(line[1:], own, strict=True):
                same(cell, [len(part.of(failure_class=line[0])), len(part)], line)
