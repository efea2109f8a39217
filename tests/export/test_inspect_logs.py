"""`make export FORMAT=inspect`: Inspect AI finds the study's own numbers in the logs."""

import json
from collections import Counter
from fractions import Fraction

import pytest

from fluency.archive.unpack import unpacked
from fluency.archive.verify import verified_view
from fluency.common.paths import ROOT
from fluency.core.shells import DESIGN_SHELLS
from fluency.core.study import Cell
from fluency.core.table import RECORD_TYPES, CellRecords, load_records, record_path
from fluency.core.task_world import world_for
from fluency.core.tasks import load_tasks
from fluency.execution.execute import execute_cell
from fluency.generation.conversation import AGAIN
from tests.archive.factory import (
    Executor,
    answer_to,
    archived,
    gather,
    make,
    make_study,
    measure,
    put_cell,
)
from tests.programs import completed

TASKS = ("stale-lockfiles", "tree-size-bytes")
SPECIAL = [Cell("qwen-0.5b", "bash", TASKS[0], trial) for trial in (1, 2, 3, 4)]
REFUSED, FAILED, UNJUDGED, UNASKED = SPECIAL


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The archive of a study of two models, five trials each."""
    root = tmp_path_factory.mktemp("packed")
    return archived(make(root, make_study(TASKS, trials=5, models=2)), root / "out")


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """A partial archive without PowerShell, with one cell of each special kind."""
    made = measure(tmp_path_factory.mktemp("odd"), make_study(TASKS, trials=4), shells=["bash"])
    task = next(task for task in made.tasks if task.id == TASKS[0])
    refused = load_records(made.results, REFUSED).generation
    answer = refused.answer
    answer = answer_to(answer.request, answer.text, answer.received_utc, end="refusal")
    again(made, task, refused.model_copy(update={"answer": answer}))
    again(made, task, load_records(made.results, FAILED).generation, ["the engine went away"] * 3)
    record_path(made.results, "scores", UNJUDGED).unlink()
    for stage in RECORD_TYPES:
        record_path(made.results, stage, UNASKED).unlink()
    gather(made)
    return archived(made, tmp_path_factory.mktemp("archive"), partial=True)


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """The archive of conversations of three turns: the second repairs, the third repeats."""
    root = tmp_path_factory.mktemp("followed")

    def reply(task, cell):
        return (task.references if cell.turn > 1 else task.wrong)[cell.shell][0]

    study = make_study(TASKS[:1], trials=1, turns=3, study="followed")
    return archived(make(root, study, reply=reply), root / "followed")


def again(made, task, generation, failed=()):
    study = made.study
    sandbox, utc = Executor(made.tasks, ["bash"]), "2026-11-22T01:03:04Z"
    execution = execute_cell(study, task, generation, sandbox, world_for, utc, failed)
    put_cell(made, task, generation, execution)


@pytest.fixture(scope="module")
def found(interop, packed, followed, odd, tmp_path_factory):
    """What Inspect reads: archive -> model -> what tests/export/read_inspect_logs.py found."""
    folder = tmp_path_factory.mktemp("exported")
    script = ROOT / "tests/export/read_inspect_logs.py"
    completed(interop / "python", script, folder, packed, followed, odd)
    return json.loads((folder / "found.json").read_text())


@pytest.fixture(scope="module")
def example(packed):
    """The archive's rows and records, read without Inspect."""
    with unpacked(packed) as files:
        view = verified_view(files)[0]
        yield view.rows(), {cell.path: view.records(cell) for cell in view.cells}


def test_log_has_sample_per_task_and_shell_epoch_per_trial(found, packed, example):
    rows, _ = example
    logs = found[packed.name]
    assert set(logs) == {row.model for row in rows} and len(rows) == 40
    for model, log in logs.items():
        cells = [row for row in rows if row.model == model]
        assert log["status"] == "success" and log["epochs"] == 5
        assert log["total"] == 20 and len(log["ids"]) == 4
        listed = [tuple(sample) for sample in log["listed"]]
        assert listed == sorted((f"{row.task}/{row.shell}", row.trial) for row in cells)
        assert set(listed) == {(s["id"], s["epoch"]) for s in log["samples"].values()}


def test_log_metrics_equal_pass_rates(found, packed, example):
    rows, _ = example
    for model, log in found[packed.name].items():
        for shell in DESIGN_SHELLS:
            of_shell = [row for row in rows if (row.model, row.shell) == (model, shell)]
            for name in ("passed", "structural_pass", "lenient_passed"):
                rate = Fraction(sum(getattr(row, name) for row in of_shell), len(of_shell))
                mean = log["metrics"][f"{name} mean"][shell]
                assert mean == pytest.approx(float(rate), abs=1e-12)
            any_of_five = len({row.task for row in of_shell if row.passed})
            assert log["metrics"]["passed pass_at_5"][shell] == pytest.approx(any_of_five / 2)


def test_log_samples_match_cells(found, packed, example):
    rows, records = example
    for row in rows:
        path = Cell(row.model, row.shell, row.task, row.trial).path
        sample = found[packed.name][row.model]["samples"][path]
        generation, _, score = CellRecords(*records[path])
        answer = generation.answer
        assert (sample["input"], sample["completion"]) == (answer.request.prompt, answer.text)
        assert sample["usage"] == [row.input_tokens, row.output_tokens]
        value = "C" if row.passed else "I"
        verdict = {"value": value, "answer": row.command, "explanation": row.why}
        assert sample["scores"]["passed"] == verdict
        worlds = [[w.seed, w.condition, w.reading, w.passed] for w in score.worlds]
        assert sample["worlds"] == worlds
        plain = [w for w in score.worlds if (w.condition, w.reading) == ("as_designed", "strict")]
        targets = [json.loads(line) for line in sample["target"].splitlines()]
        assert targets == [world.expected for world in plain]
    for model, log in found[packed.name].items():
        (usage,) = log["usage"].values()
        tokens = [row.output_tokens for row in rows if row.model == model]
        assert usage["output_tokens"] == sum(tokens)


def test_log_holds_the_whole_conversation(found, followed):
    """In the sample of its first turn, whose verdict is the headline's."""
    (log,) = found[followed.name].values()
    task = next(task for task in load_tasks() if task.id == TASKS[0])
    assert len(log["samples"]) == 2
    for path, sample in log["samples"].items():
        shell = path.split("/")[1]
        wrong, right = task.wrong[shell][0], task.references[shell][0]
        roles, texts = zip(*sample["messages"], strict=True)
        assert roles == ("user", "assistant") * 3 and sample["scores"]["passed"]["value"] == "I"
        assert texts[0] == sample["input"] and texts[1::2] == (wrong, right, right)
        assert all(AGAIN in shown for shown in texts[2::2])


def test_log_leaves_unmeasured_cells_out_of_rates(found, odd):
    (log,) = found[odd.name].values()
    samples = log["samples"]
    assert log["status"] == "cancelled", "a cell was never asked"
    assert log["total"] == 16 and UNASKED.path not in samples and len(samples) == 15
    refused = samples[REFUSED.path]
    assert refused["stop"] == "content_filter" and refused["scores"]["passed"]["value"] == "I"
    assert refused["scores"]["passed"]["explanation"] == "The model declined to answer."
    failed_cell = samples[FAILED.path]
    assert "engine went away" in failed_cell["error"] and failed_cell["scores"] == {}
    assert samples[UNJUDGED.path]["error"] == "no score yet"
    assert samples[UNJUDGED.path]["scores"] == {}
    assert {failed_cell["status"], samples[UNJUDGED.path]["status"]} == {"missing"}
    absent = [sample for path, sample in samples.items() if "/pwsh/" in path]
    assert Counter(s["status"] for s in absent) == {"not_measured": 8}
    for sample in absent:
        assert sample["scores"]["passed"]["value"] is None and sample["error"] is None
        assert "no PowerShell" in sample["scores"]["passed"]["explanation"]
    # Of the Bash cells one refusal failed, and of the other task one of four passed.
    assert log["metrics"]["passed mean"] == {"bash": pytest.approx((0 + 1 / 4) / 2)}


def test_log_export_refuses_unanswered_study(found):
    assert "no model has answered yet" in found["unasked"] and "Hint:" in found["unasked"]
