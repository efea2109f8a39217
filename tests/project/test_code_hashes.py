"""The hash of a stage changes with what the stage imports and with nothing else."""

import re
import shutil

import pytest

from fluency.archive import code_hashes
from fluency.common import source_hash
from fluency.common.paths import ROOT

CHANGES = {
    "scripts/fluency/world/names.yaml": {"score"},
    "scripts/fluency/core/grammar.py": {"execute", "score"},
    "scripts/fluency/scoring/data/verbs.txt": {"score"},
    "scripts/fluency/analysis/times.py": {"analyse"},
    "scripts/fluency/generation/local_model/serve.py": {"generate"},
    "scripts/fluency/core/schema.py": {"generate", "score", "gather", "analyse"},
    "sandbox/seccomp/reductions.yaml": {"execute"},
    "report/explorer/style.css": set(),
    "scripts/fluency/workflow/pipeline.py": set(),
    "scripts/fluency/common/terminal.py": set(),
    "scripts/fluency/__init__.py": set(),
}
"""File -> the stages that its change makes again, of those that decide a number."""


def test_a_change_changes_the_stages_that_import_the_file(tmp_path):
    for folder in ("scripts/fluency", "sandbox", "report"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    before = code_hashes.code_hashes({})
    for name, stages in CHANGES.items():
        path = tmp_path / name
        whole = path.read_bytes()
        path.write_bytes(whole + b"\n# another line\n")
        now = code_hashes.code_hashes({}, tmp_path)
        path.write_bytes(whole)
        assert {stage for stage in code_hashes.FROZEN if now[stage] != before[stage]} == stages, name


def test_every_rule_has_a_stage_and_every_stage_has_its_modules():
    rules = set(re.findall(r"^rule (\w+):", (ROOT / "Snakefile").read_text(), re.MULTILINE))
    assert rules - {"all"} <= code_hashes.STAGES.keys()
    for name, stage in code_hashes.STAGES.items():
        files, _ = code_hashes.sources(name)
        for module in stage.modules:
            path = f"scripts/{module.replace('.', '/')}"
            assert {f"{path}.py", f"{path}/__init__.py"} & files, f"{name}: there is no {module}"
        for pattern in stage.files:
            assert any(ROOT.glob(pattern)), f"{name}: {pattern} matches nothing"


def test_another_version_of_a_library_is_another_hash_and_every_library_is_installed():
    versions = code_hashes.environment()
    assert "absent" not in versions.values()
    assert {"xllamacpp", "anthropic", "scipy", "jinja2", "pyyaml"} <= versions.keys()
    other = code_hashes.code_hashes(versions | {"tree-sitter-pwsh": "9"})
    same = code_hashes.code_hashes(versions)
    assert same == code_hashes.code_hashes()
    assert {stage for stage in same if same[stage] != other[stage]} == {"execute", "score", "control"}


@pytest.mark.parametrize(
    ("text", "imported"),
    [
        ("from fluency.core import table, tasks\n", {"fluency.core", "fluency.core.table", "fluency.core.tasks"}),
        ("def f():\n    from a.b import (\n        c,  # why\n        d as e,\n    )\n", {"a.b", "a.b.c", "a.b.d"}),
        ("import yaml, os.path as p  # type: ignore[import]\n", {"yaml", "os.path"}),
        ('if TYPE_CHECKING:\n    from a import b\n\nTEXT = """\nimport runner\n"""\nimport c\n', {"c"}),
    ],
)
def test_what_counts_as_an_import(text, imported, tmp_path):
    (tmp_path / "module.py").write_text(text)
    assert source_hash._imported(tmp_path / "module.py") == imported
