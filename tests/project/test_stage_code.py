"""The files and libraries hashed for a stage are what it imports: held against the real imports, not a copy of them."""

import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp
import pytest

from fluency.core.stage_code import DECIDES, LAYERS, RERUNS, _sha256, files_of

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = {
    "worlds": ["fluency.core.task_world"],
    "request": ["fluency.generation.prompt", "fluency.generation.request"],
    "sandbox": ["fluency.execution.image_content", "fluency.execution.protocol"],
    "command": ["fluency.execution.execute"],
    "score": ["fluency.core.task_world", "fluency.scoring.score_cell"],
    "table": ["fluency.core.table", "fluency.core.provenance"],
    "report": ["fluency.report.document", "fluency.report.figures", "fluency.report.render"],
    "explorer": ["fluency.report.explorer.page"],
    "registration": ["fluency.archive.registration"],
    "metadata": ["fluency.archive.crate"],
}
DECIDING = {
    "asking": ["fluency.generation.generate", "fluency.generation.local_model.serve"],
    "command": ENTRIES["command"],
    "execution": ["fluency.execution.execute", "fluency.execution.sandbox"],
    "scoring": ENTRIES["score"],
    "table": ENTRIES["table"],
    "analysis": ["fluency.analysis"],
}
"""What the pipeline calls at each stage that decides a number."""
RULES = {
    "execute": ENTRIES["command"],
    "score": ENTRIES["score"],
    "control": ["fluency.validation.control"],
    "gather": ENTRIES["table"],
    "report": ENTRIES["report"] + ENTRIES["explorer"],
}
NEUTRAL = {
    "fluency": "the version, which stands in every record by itself",
    "fluency.common.locks": "who may work, never what comes out",
    "fluency.common.terminal": "what a person is told meanwhile",
    "fluency.core.records": "commands that no model wrote, which are part of no rate",
    "fluency.common.git": "which commit it is, never an answer",
    "fluency.core.task_world": "what a plan comes to where nothing is executed: refuses a pair of worlds, judges nothing",
    "fluency.core.loaded_study": "reads the study by modules that are frozen themselves",
    "fluency.core.stage_code": "names the code; it decides nothing",
}
"""What no stage's answer depends on, with the reason."""
NOT_RERUN_FOR = {
    # A changed noun or world shows in the param of the rule or in the record; the image's sources in the image's param.
    "execute": ("fluency.common.", "fluency.core.", "fluency.world"),
    "control": ("fluency.common.", "fluency.execution.sandbox"),
}
NO_ANSWER = {"anthropic": "the wire", "httpx2": "the wire", "docker": "the wire", "requests": "the wire"}
"""Distributions that carry an answer and cannot change it."""


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph(
        "fluency", cache_dir=None, exclude_type_checking_imports=True, include_external_packages=True
    )


def closure(graph, entries):
    seen, ahead = set(), list(entries)
    while ahead:
        module = ahead.pop()
        if module not in seen:
            seen.add(module)
            if module.startswith("fluency"):
                ahead += graph.find_modules_directly_imported_by(module)
    return seen


def file_of(module):
    path = ROOT / "scripts" / Path(*module.split("."))
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).relative_to(ROOT).as_posix()


def unlisted(graph, entries, stage, left_out=()):
    ours = {module for module in closure(graph, entries) if module.startswith("fluency")}
    decides = {module for module in ours if module not in NEUTRAL and not module.startswith(tuple(left_out))}
    return {file_of(module) for module in decides} - set(files_of(stage))


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_names_every_file_it_imports(graph, layer):
    assert unlisted(graph, ENTRIES[layer], LAYERS[layer]) == set()


@pytest.mark.parametrize("stage", DECIDES)
def test_a_registration_freezes_every_file_a_stage_imports(graph, stage):
    assert unlisted(graph, DECIDING[stage], DECIDES[stage]) == set()


def test_every_action_of_the_pipeline_belongs_to_a_stage_that_is_frozen(graph):
    """Up to the numbers: what the pipeline imports of the stages is among the files whose hashes are frozen."""
    stages = (
        "fluency.generation",
        "fluency.execution",
        "fluency.scoring",
        "fluency.analysis",
        "fluency.core",
        "fluency.world",
    )
    frozen = {file for stage in DECIDES.values() for file in files_of(stage)}
    called = {module for module in closure(graph, ["fluency.workflow.pipeline"]) if module.startswith(stages)}
    left = [module for module in called if module not in NEUTRAL and file_of(module) not in frozen]
    assert left == []


@pytest.mark.parametrize("rule", RERUNS)
def test_a_rule_reruns_for_every_file_it_imports(graph, rule):
    assert unlisted(graph, RULES[rule], RERUNS[rule], NOT_RERUN_FOR.get(rule, ())) == set()


@pytest.mark.parametrize("name", [*LAYERS, *RERUNS])
def test_nothing_of_validation_and_no_lost_pattern_is_among_a_stages_files(name):
    """But for the control, which is a proof by validation that decides no number."""
    stage = LAYERS.get(name) or RERUNS[name]
    assert name == "control" or not [file for file in files_of(stage) if "validation" in file or "mutant" in file]
    for pattern in stage.files:
        assert any(ROOT.glob(pattern)), f"{pattern} matches nothing"


@pytest.mark.parametrize("layer", LAYERS)
def test_every_distribution_a_layer_imports_is_among_its_libraries(graph, layer):
    provided = packages_distributions()
    outside = {module.split(".")[0] for module in closure(graph, ENTRIES[layer])} - {"fluency"}
    distributions = {
        name.lower().replace("_", "-")
        for module in outside - set(sys.stdlib_module_names) - {"pydantic_core"}  # pinned by pydantic itself
        for name in provided[module]
    }
    assert distributions - set(NO_ANSWER) <= set(LAYERS[layer].libraries)


def test_another_version_of_a_grammar_is_another_hash(monkeypatch):
    """Also of PowerShell's, so that a new grammar makes an archive's scores unproven instead of altered."""
    before = _sha256(LAYERS["score"])
    monkeypatch.setattr("fluency.core.stage_code._version", lambda name: "9" if name == "tree-sitter-pwsh" else "1")
    other = _sha256(LAYERS["score"])
    monkeypatch.setattr("fluency.core.stage_code._version", lambda name: "1")
    assert len({before, other, _sha256(LAYERS["score"])}) == 3
