"""The rendered text, in every state a study can be in."""

import re

import jinja2
import pytest

from fluency.analysis.decision_table import VERSION, plan_for, plan_sha256
from fluency.core.provenance import Provenance, Registered, Sampling
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.table import read_table, to_frame, write_table
from fluency.report.report import write_report
from fluency.report.templates import render
from tests.report.test_markdown import HOSTILE, MARKDOWN, parsed
from tests.synthetic_tables import (
    IMAGE,
    from_counts,
    make_rows,
    make_study,
    make_tasks,
    random_passes,
    view_of,
)

TASKS = make_tasks()
TAGS = set("h1,h2,h3,p,ul,li,em,strong,code,a,img,table,thead,tbody,tr,th,td".split(","))  # noqa: SIM905
PROVENANCE = Provenance(
    commit="0123abc" + "0" * 33,
    dirty=True,
    version="0.1.0",
    task_sha256={"task-20": "beef" * 16},
    images=[IMAGE],
    engines=[{"name": "docker", "rootless": False}, {"name": "podman", "rootless": True}],
    worlds={"11": [f"{i:064x}" for i in range(40)]},
    sampling={"model-x": Sampling(temperature_sent=["0.7"], thinking=[None], max_tokens=[256, 512], extra_body=[{}])},
    start_up_s={"bash": 0.004, "pwsh": 0.41, "slow": None},
    registration=Registered(path="registrations/study.json", sha256="ab" * 32),
    deviations=["trials: 5 became 4"],
)  # fmt: skip


def report(tmp_path, passes, study=None, tasks=TASKS, provenance=None, altered=None, **more):
    """altered: takes a row and its number, and gives its other values."""
    study = study or make_study()
    rows = make_rows(study, tasks, passes, **more)
    if altered:
        rows = [row.model_copy(update=altered(row, number)) for number, row in enumerate(rows)]
    path = tmp_path / "report.md"
    write_report(path, to_frame(rows), view_of(study, tasks, provenance))
    text = path.read_text()
    check_shape(text, path.parent)
    return text


def check_shape(text, folder):
    """What holds of every report: links to figures lead somewhere, tables are whole, nothing is left over."""
    assert text.startswith("# Agent Shell Fluency Eval")
    assert not re.search(r"\{[{%]|None|nan\b|Undefined|Fraction\(", text)
    assert not re.search(r"\b(?<!/)1 (?:tasks|trials|models|shells|runs|cells|points)\b", text)
    for image in re.findall(r"!\[[^\]]+\]\((figures/[^)]+)\)", text):
        assert (folder / image).is_file()
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        assert len({line.count("|") for line in block.splitlines()}) == 1, block
    assert "\n\n\n" not in text and not re.search(r"[^\n]\n#", text)
    assert text.endswith("\n")


def front(text):
    """The page before the appendix."""
    return text.split("\n# Appendix\n")[0]


def words(text):
    """Words that a reader sees: no pictures, link targets or table rules."""
    shown = re.sub(r"!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)", "", text)
    return sum(bool(re.search(r"\w", word)) for word in shown.split())


def cells(table):
    """A Markdown table's cells, line by line."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_report_first_page_order_and_length(tmp_path):
    counts = [(4, 5)] * 6 + [(0, 1)] * 5 + [(5, 5)] * 6 + [(0, 0)] * 3
    passes = from_counts(dict(zip([task.id for task in TASKS], counts, strict=True)))
    study = make_study(("model-x", "model-y"), decision="which shell prompts name")
    text = report(tmp_path, passes, study, asked_utc=None)
    lines = text.split("\n\n")
    assert lines[1].startswith(
        "**model-x passed 54.0 % in Bash and 65.0 % in PowerShell (+11.0 points, "
    )
    assert lines[2].startswith("| model ") and lines[3].startswith("![Gap of each model")
    assert "For the decision: which shell prompts name" in front(text)
    assert words("\n\n".join(lines[:3])) <= 180 and words(front(text)) <= 770
    titles = ["What could change this", "Where the shells differ", "How it was measured"]
    assert re.findall(r"^## (.*)$", front(text), re.M) == titles
    rest = [line for line in text.splitlines() if re.match("##? ", line)][4:]
    names = ("Numbers", "Sensitivities", "Failures", "Tasks", "Times", "Provenance")
    assert rest == ["# Appendix", *(f"## {name}" for name in names)]
    assert all(f"[{name.lower()}](#{name.lower()})" in front(text) for name in names)
    assert "65.0 % (65/100)" in lines[2]
    shown = front(text).split("## Where the shells differ")[1].split("\n## ")[0]
    assert "![How runs of model-x failed, Bash / PowerShell: " in shown
    assert "Gap by category, in points (tasks): file-inspection +20.0 (5), text" in shown
    assert "**model-x**: every planned run was measured" in text


def test_report_of_five_models(tmp_path):
    study = make_study(tuple(f"model-{letter}" for letter in "abcde"))
    text = report(tmp_path, random_passes(), study)
    assert "× 5 models, 1000 of 1000 runs measured" in front(text)
    for letter in "abcde":
        assert f"\n| model-{letter} |" in front(text)
        assert (tmp_path / f"figures/failures-model-{letter}.svg").is_file()
    assert "never pooled" in text
    assert "/1000 " not in text
    assert len(list((tmp_path / "figures").glob("*.svg"))) == 6
    report(tmp_path, random_passes(), make_study(("model-a",)))
    shown = {path.name for path in tmp_path.glob("figures/*.svg")}
    assert shown == {"gaps.svg", "failures-model-a.svg"}, "earlier figures are removed"


def lost_and_failed(cell):
    lost = cell.shell == "pwsh" and cell.trial == 1 and cell.task <= "task-06"
    return None if lost else cell.task > "task-09" or (cell.shell == "pwsh" and cell.trial == 2)


STATES = {
    "no PowerShell": (
        {"passes": lambda cell: "not_measured" if cell.shell == "pwsh" else cell.trial < 4},
        ["60.0 % (60/100)", "To measure PowerShell, put its release's tarball beside the Makefile and run"],
        [r"Not compared: PowerShell 7 was not measured: the sandbox image holds no PowerShell 7\. ",
         r"\| model-x .*not measured", r"PowerShell 7 \| +100 \| +0 \| +0 \| +100 \| the sandbox image"],
        1,
    ),
    "one shell": ({"study": make_study(shells=("bash",))}, ["PowerShell 7 is not part of this study",
        "PowerShell was not measured here: this report compares nothing."],
        [r"\| model-x .*not in study"], 1),
    "two aliases": ({"study": make_study(("model-x", "y")).model_copy(update={"models": [
        model.model_copy(update={"id": "same"}) for model in make_study(("model-x", "y")).models]})},
        [], [r"\*\*same\*\*\n\n\| +\| model-x \| +y \|", r"\| gap of the shells \| "], 3),
    "nothing": (
        {"passes": lambda cell: None},
        ["0 of 200 runs measured", "Bash and PowerShell were not measured here", "100 of 100 cells in Bash have no measurement"],
        [r"\| model +\| shell +\| made of +\|.*\n.*\n\n## Failures", r"no generation yet \(100\)"],
        0,
    ),
    "few tasks": ({"tasks": make_tasks(8)}, ["8 of 8 tasks were measured in both shells; a verdict needs 15",
        "Too little was measured for a verdict: this report"],
        [r"\| model-x .*a verdict needs 15"], 2),
    "one trial": ({"study": make_study(trials=1)}, ["× 1 trial × 1 model"],
        ["One trial of each task: no pass@k"], 2),
    "all pass": ({"passes": lambda cell: True}, [], [r"No measured run failed\.", r"tasks can tell|can tell the shells apart: 0 of 20",
        "0/20 tasks differ: up to 16.8 %", "less than 10 points on these tasks, which both pass nearly always; harder"], 1),
    "all fail": ({"passes": lambda cell: False}, ["on these tasks, which both pass hardly ever; easier tasks may differ"],
        [ r"\| Bash +\| +0/100 \|( +n/a \|){3} +60\.0 s \(20 tasks\) \| +20/20 \|",
        "No control run: reference and wrong commands were not run in this"], 2),
    "unresolved": (
        {"passes": from_counts({t.id: (0, 5) if i < 2 else (3, 3) for i, t in enumerate(TASKS)})},
        ["Who is ahead is open. Nothing here supports a change of policy."],
        [r"\| model-x .*\| about \d+ more tasks like these; the bank's \d+ for &#36;\d\.\d\d find 10"],
        2,
    ),
    "missing cells": (
        {"passes": lost_and_failed},
        ["On what was measured: ", "finish the study before deciding", "194 of 200 runs measured"],
        ["if every unmeasured run had gone against PowerShell", "·●"],
        2,
    ),
    "no latencies": ({"t_gen_s": None}, [], [r"## Times[^#]*\| model-x \| PowerShell 7 \|.* n/a \|.* n/a \|"], 2),
    "few trials of a task": (
        {"passes": lambda cell: None if cell.task == "task-07" and cell.trial > 2 else True}, [],
        [r"Left out of the comparison, with too few measured trials \(3 of 5 needed in both shells\): task-07\."], 1),
}  # fmt: skip
"""State -> what is measured, words on the page before the appendix, patterns of the whole text, figures."""


@pytest.mark.parametrize("state", STATES)
def test_report_of_each_state(tmp_path, state):
    made, on_page, patterns, figures = STATES[state]
    text = report(tmp_path, **{"passes": random_passes()} | made)
    assert [words for words in on_page if words not in front(text)] == []
    assert [pattern for pattern in patterns if not re.search(pattern, text)] == []
    assert len(list(tmp_path.glob("figures/*.svg"))) == figures
    assert "&#96;" not in text


def test_report_of_an_empty_table(tmp_path):
    study = make_study()
    write_report(tmp_path / "report.md", to_frame([]), view_of(study, TASKS))
    assert "no row in the cells table (100)" in (tmp_path / "report.md").read_text()


def test_report_marks_refusals(tmp_path):
    def altered(row, number):
        kind = {1: "refusal", 2: "format"}.get(row.trial)
        if row.task != "task-01" or not kind:
            return {}
        outcome = "refusal" if kind == "refusal" else "ok"
        failed = {"command": None, "passed": False, "made_of": None, "why": "said no"}
        return failed | {"outcome": outcome, "failure_class": kind}

    text = report(tmp_path, lambda cell: True, altered=altered)
    assert re.search(r"^\| task-01 .*∅∅●●●", text, re.M)
    assert "refusals left out: " in text
    assert re.search(r"refusal +\| +1/100 \| +1/100", text)


def test_report_counts_quiet_wrong_answers_by_shell(tmp_path):
    def altered(row, number):
        fails = not row.passed and row.shell == "bash"
        return {"exit_ok": row.passed or fails, "quiet": fails and row.trial == 5}

    text = front(report(tmp_path, lambda cell: cell.trial < 4, altered=altered))
    quiet = "20.0 % of runs in Bash and 0.0 % in PowerShell, −20.0 points (−26.8 to −13.2)"
    assert f"Quiet wrong answers of model-x: {quiet}. Wrong" in text
    assert "Wrong with status 0: 40.0 % of runs in Bash and 0.0 % in PowerShell, −40.0" in text


def test_report_states_worlds_temperature_and_versions(tmp_path):
    study = make_study(seeds=[11, 24, 30])
    made = front(report(tmp_path, random_passes(), study, provenance=PROVENANCE))
    assert "in 3 generated worlds, in fresh containers without network" in made
    assert "the answer is right in all. Prompts" in made
    assert "Temperature 0.7. " in made and "Bash 5.2.15, PowerShell 7.6.5. Not measured" in made
    lacking = IMAGE.model_copy(update={"shells": {"bash": "5.2.15", "pwsh": None}})
    bash_only = PROVENANCE.model_copy(update={"images": [lacking]})
    made = front(report(tmp_path, STATES["no PowerShell"][0]["passes"], provenance=bash_only))
    assert "Bash 5.2.15. Not measured" in made and "PowerShell unknown" not in made


def test_report_of_a_usual_study(tmp_path):
    """Links of the failure classes, the conditions, and the limits of what is claimed."""
    usual = report(tmp_path, random_passes())
    found = re.findall(r"`, as in \[(model-x/[^\]]+)\]\(explorer\.html#([^)]+)\)", usual)
    assert len(found) == 2 and all(shown == linked for shown, linked in found)
    assert re.search(r"\| PowerShell 7 \| cmdlets-only +\| +\d+/100 \|", usual)
    assert "without Unix tools" in front(usual) and "aliases" not in front(usual)
    assert re.search(r"\| passed without Unix tools \| passed with Windows aliases \|", usual)
    for setting in ("Unix tools: no Unix tools on PATH", "Windows aliases: the aliases of Windows"):
        line = rf"\| with(out)? {setting} for PowerShell \(Bash as designed\) +\| +\d+\.\d % \(\d+/100\)"
        assert re.search(line, usual)
    said = usual.split("## How it was measured")[1]
    for words in (
        "one-shot",
        "is safe to run",
        "are public, so a model may have been trained on them",
        "of 20 tasks (no named set), 3 come from the design document, 5 from",
        "**Exploratory: not registered in advance**. Whatever",
        f"Analysis plan version {VERSION}, SHA-256 `{plan_sha256(plan_for(DESIGN_SHELLS))}`: 95 %",
    ):
        assert words in said


def test_report_prints_provenance(tmp_path):
    text = report(tmp_path, random_passes(), provenance=PROVENANCE)
    for fact in (
        "- dirty: `yes`",
        f"- images.archives.pwsh: `{'ab' * 32}`",
        "- engines.1.rootless: `yes`",
        "- sampling.model-x.max_tokens: `256, 512`",
        "- sampling.model-x.thinking: `none`",
        "40 values, SHA-256 of their list",
        "**Registered at a time that is not known**: `registrations/study.json`",
        "- trials: 5 became 4",
        "task-20, version 1, written, SHA-256 `beefbeefbeefbeef`",
    ):
        assert fact in text
    assert re.search(r"\| Bash .*\) \| +4 ms \|", text)
    assert re.search(r"\| PowerShell 7 .*\) \| +0\.41 s \|", text)
    assert "Exploratory" not in text
    assert "extra_body" not in text and "spent_usd" not in text


def test_report_states_attempts_and_unasked_changes(tmp_path):
    lost = {"status": "missing", "passed": None, "reason": "its command was started 3 times"}
    news = {
        0: {"attempts": 2, "unasked_changes": 3},
        1: lost | {"attempts": 3},
        2: {"attempts": 1, "unasked_changes": None},
    }
    text = report(tmp_path, lambda cell: True, altered=lambda row, number: news.get(number, {}))
    first, second = (f"model-x/bash/task-01/{trial}" for trial in (1, 2))
    assert "interrupted from outside while the command ran (Bash 2, PowerShell 0): [" in text
    assert f"[{first}](explorer.html#{first}) measured at the 2nd attempt; [{second}]" in text
    assert f"(explorer.html#{second}) abandoned after the 3rd attempt.\n\n*Missing*" in text
    assert "its command was started 3 times (1)" in text
    assert f"- unasked change of 3 paths in [{first}](explorer.html#{first}): `find" in text
    undisturbed = report(tmp_path, lambda cell: True)
    assert "attempt." not in undisturbed and "unasked change of" not in undisturbed


def test_report_is_deterministic(tmp_path):
    study, rows = make_study(), make_rows(make_study(), TASKS, random_passes())
    write_table(tmp_path / "cells.csv", rows)
    read = Provenance.model_validate_json(PROVENANCE.model_dump_json())
    one, two = tmp_path / "one", tmp_path / "two"
    write_report(one / "report.md", to_frame(rows), view_of(study, TASKS, PROVENANCE))
    table = read_table(tmp_path / "cells.csv")
    write_report(two / "report.md", table, view_of(study, TASKS, read))
    files = [path.relative_to(one) for path in one.rglob("*.*")]
    assert len(files) == 4
    assert [file for file in files if (one / file).read_bytes() != (two / file).read_bytes()] == []


@pytest.mark.parametrize("place", range(0, len(HOSTILE), 4))
def test_report_escapes_hostile_text(tmp_path, place):
    dirt = [HOSTILE[(place + i) % len(HOSTILE)] or "x" for i in range(4)]

    def altered(row, number):
        names = ("command", "why", "commands", "model_echoed", "reason", "side_effects")
        more = {name: dirt[(row.trial + at) % 4] for at, name in enumerate(names)}
        more |= {"temperature_sent": dirt[1], "failure_class": None}
        return more | ({"status": "missing", "passed": None} if row.trial == 5 else {})

    about = {"version": dirt[0], "engines": [{dirt[1]: dirt[2]}], "start_up_s": {dirt[0]: 1.0}}
    dirty = Provenance(registration=Registered(path=dirt[3]), deviations=dirt, **about)
    study = make_study(decision=HOSTILE[place] or "none")
    text = report(tmp_path, lambda cell: cell.trial > 3, study, provenance=dirty, altered=altered)
    assert set(parsed(text).tags) <= TAGS
    targets = re.findall(r'<(?:a|img)[^>]*(?:href|src)="([^"]*)"', MARKDOWN.render(text))
    ours = ("explorer.html", "#", "figures/")
    assert targets and all(target.startswith(ours) for target in targets)


def test_render_refuses_a_missing_value():
    with pytest.raises(jinja2.UndefinedError):
        render("report.md.j2", {})
