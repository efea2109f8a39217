"""A third shell has its place in every table and figure, another pair has its own gap."""

import re
from xml.etree import ElementTree

import pytest

from fluency.analysis.study_analysis import analyse
from fluency.core.provenance import Provenance
from fluency.core.shells import DESIGN_SHELLS, arms
from fluency.report.numbers import rate
from fluency.report.report import write_report
from fluency.report.sentences import headline_of, rate_cell
from tests.synthetic_tables import make_frame, make_study, make_tasks, random_passes, view_of

TASKS = make_tasks()
pytestmark = pytest.mark.usefixtures("zsh")


def study_of(*shells):
    study = make_study(shells=shells)
    return study, make_frame(study, TASKS, random_passes())


def report_of(folder, *shells):
    """The report, and its figures by kind."""
    study, frame = study_of(*shells)
    view = view_of(study, TASKS, Provenance(start_up_s=dict.fromkeys(shells, 0.1)))
    write_report(folder / "report.md", frame, view)
    figures = {
        path.stem.split("-")[0]: path.read_text() for path in (folder / "figures").glob("*.svg")
    }
    return (folder / "report.md").read_text(), figures


def headers(text):
    """The header cells of each table."""
    lines = text.splitlines()
    rules = [place for place, line in enumerate(lines) if re.match(r"\| -+:? ", line)]
    return [[cell.strip() for cell in lines[place - 1].strip("|").split("|")] for place in rules]


def words(svg):
    return " ".join("".join(node.itertext()) for node in ElementTree.fromstring(svg).iter())


def test_each_challenger_has_its_own_gap():
    study, frame = study_of(*DESIGN_SHELLS, "zsh")
    pairs = analyse(frame, study, TASKS).contrasts
    assert [pair.shells for pair in pairs] == [DESIGN_SHELLS, ("bash", "zsh")]
    assert [pair.name for pair in pairs] == ["model-x, PowerShell", "model-x, Zsh"]
    for pair in pairs:
        two = frame[frame["shell"].isin(pair.shells)]
        (alone,) = analyse(two, make_study(shells=pair.shells), TASKS).contrasts
        assert alone.name == "model-x" and (pair.gap, pair.refused) == (alone.gap, alone.refused)
        assert (pair.sensitivities, pair.solved) == (alone.sensitivities, alone.solved)
        assert headline_of(pair) == headline_of(alone)
        _, other = pair.shells
        assert rate_cell(pair, other) == rate(pair.outcomes.by_shell[other])


def test_first_shell_is_the_baseline_and_the_designs_two_are_in_its_order():
    study, frame = study_of(*DESIGN_SHELLS, "zsh")
    mixed = make_study(shells=("zsh", "pwsh", "bash"))
    pairs = {pair.shells: pair for pair in analyse(frame, mixed, TASKS).contrasts}
    assert [*pairs] == [("zsh", "pwsh"), ("zsh", "bash")]
    as_listed = analyse(frame, study, TASKS).contrasts[1]
    assert pairs["zsh", "bash"].gap.value == -as_listed.gap.value
    assert arms(["pwsh", "bash"]) == arms(["pwsh"]) == DESIGN_SHELLS
    assert arms(["zsh"]) == ("bash", "zsh")


def test_third_shell_is_in_every_table(tmp_path):
    text, figures = report_of(tmp_path, *DESIGN_SHELLS, "zsh")
    assert "20 tasks (no named set) × 3 shells" in text
    assert "more often in PowerShell 7 or Zsh 5 than in Bash?" in text
    assert "With 2 comparisons of no true gap" in text
    found = headers(text)
    places = ["both", "PowerShell or Zsh only", "Bash only", "neither"]
    assert ["model", "Bash", "PowerShell", "Zsh", "gap, pp", *places] in found
    assert ["failure class", "Bash", "PowerShell", "Zsh"] in found
    assert ["task", "category", "Bash", "passes", "PowerShell", "passes", "Zsh", "passes"] in found
    assert found[0][:3] == ["model", "Bash", "challenger"]
    for title in ("Numbers", "Sensitivities", "Times"):
        section = text.split(f"\n## {title}")[1].split("\n## ")[0]
        assert re.search(r"^\|.*\bZsh 5\b", section, re.M), title
    assert set(figures) == {"gaps", "failures"}
    assert "Zsh" in words(figures["failures"])
    assert all(f"model-x, {name}" in words(figures["gaps"]) for name in ("PowerShell", "Zsh"))


def test_another_contrast_has_its_own_words(tmp_path):
    text, figures = report_of(tmp_path, "bash", "zsh")
    assert "more often in Zsh 5 than in Bash?" in text
    assert headers(text)[0][:3] == ["model", "Bash", "Zsh"]
    assert "Zsh better →" in words(figures["gaps"])
    assert "### What the answers consist of" in text
    assert ["model", "shell", "made of", "answers", "passed"] in headers(text)
    assert re.search(
        r"\| Bash ahead by 10 pp or more +\| supported, and the design has no rule", text
    )
    assert "without Unix tools" not in text
    everything = text + "".join(map(words, figures.values()))
    named = [line for line in everything.splitlines() if "PowerShell" in line or "pwsh" in line]
    assert named == []


def test_shell_without_parser_and_references_is_said_to_lack_them(tmp_path):
    text, _ = report_of(tmp_path, "bash", "nu")
    assert "Not proven in Nushell for 20 of 20 tasks, without a reference in it" in text
    assert "No parser here reads Nushell 0.115: its answers have no composition" in text
    assert [text.count(said) for said in ("Not proven in", "No parser here")] == [1, 1]
