"""A third shell is one file: Debian's zsh as a third shell, from the image to the report."""

import json
import re

import pytest

from fluency.core.shells import DESIGN_SHELLS
from fluency.core.table import read_table
from tests.generation.endpoint import Endpoint
from tests.report.explorer_factory import details_of
from tests.workflow.project import TASKS, Project, bank, model, reference_answer

pytestmark = pytest.mark.engine
LINE = "Solve this with a single zsh command (or zsh one-liner pipeline). Output only the command."
ENTRY = f"""\
name: zsh
title: Zsh
prompt_line: {LINE}
tool_name: zsh
argv: [/usr/bin/zsh, --no-rcs, -c, "{{command}}"]
version_command: print "$ZSH_VERSION"
install: {{packages: [zsh]}}
empty_command: ":"
trivial_answers: [":", "true", "echo"]
print_lines: printf '%s\\n' {{lines}}
quoting: bash
grammar: bash
missing_command: '^zsh:\\d+: command not found: (.+)$'
syntax_error: '^zsh:\\d+: parse error'
"""
REFERENCES = {
    "session-tool-failures": (
        'jq -n \'[inputs | select(.type == "tool_result" and .exit_code != 0)] | group_by(.tool)'
        " | map({tool: .[0].tool, failures: length})' logs/agent-session.jsonl"
    ),
    "tree-size-bytes": (
        "zmodload -F zsh/stat b:zstat; "
        "for f (crates/vox-corpus/**/*(D.)) (( sum += $(zstat +size $f) )); print $sum"
    ),
}
UNSOLVED = "log-errors-by-hour"
END = {"gather": 1, "report": 1}


def answer(prompt):
    """A reference in each shell; for zsh, the third task gets a program that is not there."""
    if LINE not in prompt:
        return reference_answer(prompt)
    task = next(task.id for task in bank() if task.prompt.strip() in prompt)
    return REFERENCES.get(task, "no-such-tool logs")


@pytest.fixture(scope="module")
def studied(engine, tmp_path_factory):
    """A study of two shells, then of three; the third's image is removed afterwards."""
    project = Project.make(tmp_path_factory.mktemp("third") / "project")
    try:
        with Endpoint(answer) as endpoint:
            project.configure(models=[model(endpoint.url)], tasks=[*TASKS, UNSOLVED])
            project.snakemake()
            (project.root / "shells" / "zsh.yaml").write_text(ENTRY)
            assert project.to_do() == {}, "an entry alone reruns nothing"
            for task, command in REFERENCES.items():
                references = f"references:\n  zsh:\n    - |-\n      {command}\n"
                project.edit(f"tasks/{task}/task.yaml", "references:\n", references)
            assert project.to_do() == END, "the tasks' files are stated"
            project.configure(shells=[*DESIGN_SHELLS, "zsh"])
            assert project.to_do() == {"image": 1, "generate": 3, "execute": 3, "score": 3, **END}
            project.snakemake()
            yield project
    finally:
        record = project.root / "results/images/zsh.json"
        if record.exists():
            image = json.loads(record.read_text())["image"]["image_id"]
            engine.client().remove_image(image, force=True)


def test_third_shell_is_measured_and_reported(studied):
    facts = json.loads((studied.root / "results/images/zsh.json").read_text())
    assert facts["image"]["shells"]["zsh"].startswith("5.") and facts["start_up_s"]["zsh"] > 0
    frame = read_table(studied.root / "results/test/cells.csv")
    cells = frame[frame["shell"] == "zsh"].set_index("task")
    assert set(cells["status"]) == {"measured"}
    assert cells["passed"].to_dict() == {**dict.fromkeys(REFERENCES, True), UNSOLVED: False}
    assert cells.loc[UNSOLVED, "failure_class"] == "invented-command"
    assert frame[frame["shell"] == "bash"]["passed"].all()
    report = (studied.root / "results/test/report.md").read_text()
    assert "more often in PowerShell 7 or Zsh than in Bash?" in report
    assert re.search(r"\| 100\.0 % \(3/3\) .*\| 66\.7 % \(2/3\) ", report)
    assert LINE in details_of(studied.root / "results/test/explorer.html")


def test_study_without_the_third_shell_measures_nothing_again(studied):
    studied.configure(shells=[*DESIGN_SHELLS])
    assert studied.to_do() == END
    studied.configure(shells=[*DESIGN_SHELLS, "zsh"])
    assert studied.to_do() == {}
