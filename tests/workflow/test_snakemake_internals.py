"""What a rerun reads of Snakemake's own records, and what every start of a run pays for."""

import os
import sys
import time
from types import SimpleNamespace

import pytest
from snakemake.persistence.file import FilePersistence
from snakemake.settings import types
from snakemake.settings.enums import PersistenceBackend
from snakemake_interface_executor_plugins.settings import DeploymentMethod

from fluency.common.errors import UserError
from fluency.workflow import snakemake_internals
from fluency.workflow.pipeline import bring_to_present
from fluency.workflow.snakemake_internals import check_version
from tests.programs import completed
from tests.workflow.project import Project


def test_record_is_where_snakemake_puts_it(tmp_path, monkeypatch):
    """The longest name that a study may have; Snakemake cuts longer ones."""
    monkeypatch.setattr(snakemake_internals, "FOLDER", tmp_path)
    (tmp_path / "metadata").mkdir()
    name = f"results/generations/{41 * 'm'}/bash/{61 * 't'}/100.json"
    limit = SimpleNamespace(_fetch_max_len=lambda subject: os.pathconf(subject, "PC_NAME_MAX"))
    its_own = FilePersistence._record_path(limit, str(tmp_path / "metadata"), name)
    assert str(snakemake_internals._place("metadata", name)) == its_own


@pytest.mark.parametrize("found, fits", [("9.27.1", True), ("9.28.0", False), ("10.27", False)])
def test_check_version_refuses_another_minor(monkeypatch, found, fits):
    monkeypatch.setattr(snakemake_internals, "version", lambda name: found)
    if fits:
        return check_version()
    with pytest.raises(UserError, match=rf"Snakemake {found} is installed.*9\.27(.|\n)*make env"):
        check_version()


def test_part_missing_from_snakemake_is_sentence():
    """Setting a renamed attribute would make a new one, and nothing would tell."""
    with pytest.raises(UserError, match=r"no attribute job_rate_limiter(.|\n)*make env"):
        snakemake_internals.unset_rate_limit(SimpleNamespace())


def test_options_that_keep_stale_results_are_refused():
    sound = {
        "workflow_settings": types.WorkflowSettings(),
        "deployment_settings": types.DeploymentSettings(),
        "dag_settings": types.DAGSettings(),
        "resource_settings": types.ResourceSettings(cores=1),
    }
    snakemake_internals.check_options(SimpleNamespace(**sound))
    backend = types.WorkflowSettings(persistence_backend=PersistenceBackend.DB)
    method = types.DeploymentSettings({DeploymentMethod.CONDA})
    for option, other in {
        "persistence-backend": {"workflow_settings": backend},
        "software-deployment-method": {"deployment_settings": method},
    }.items():
        with pytest.raises(UserError) as caught:
            snakemake_internals.check_options(SimpleNamespace(**sound | other))
        assert caught.value.where == f"--{option}"


@pytest.mark.parametrize("option", ["--rerun-triggers mtime", "--cores 0"])
def test_option_is_refused_before_anything_is_made(tmp_path, option):
    project = Project.make(tmp_path / "project")
    done = project.snakemake(*option.split(), "--until", "image", code=None)
    assert (
        option.split()[0] in done.stderr
        and "Hint:" in done.stderr
        and "SNAKEMAKE_PROFILE" in done.stderr
    )
    assert done.returncode and not (project.root / "results/images").exists()


def test_files_from_the_future_get_the_present(tmp_path):
    now = time.time_ns()
    ages = {"first": 3600, "second": 3601, "past": -3600}
    for name, seconds in ages.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, ns=(now, now + seconds * 10**9))
    bring_to_present([tmp_path / name for name in ages])
    written = {name: (tmp_path / name).stat().st_mtime for name in ages}
    assert written["past"] < written["first"] - 3000
    assert written["first"] == written["second"] < time.time()


OPEN = """
import sys
from types import SimpleNamespace
from fluency.common.paths import CONFIG
from fluency.core.config_files import read_yaml
from fluency.workflow.pipeline import open_pipeline

workflow = SimpleNamespace(
    overwrite_configfiles=[],
    exec_mode=SimpleNamespace(name="DEFAULT"),
    register_resource=lambda name, limit: None,
    workflow_settings=SimpleNamespace(persistence_backend=SimpleNamespace(name="FILE")),
    deployment_settings=SimpleNamespace(deployment_method=frozenset()),
    dag_settings=None,
    resource_settings=SimpleNamespace(cores=1),
)
pipeline = open_pipeline(read_yaml(CONFIG), workflow)
keys = pipeline.keys
for rule in ("image", "generate", "execute", "score", "control", "gather", "report"):
    for param in keys.params(rule).values():
        assert param(pipeline.loaded.cells[0]) if callable(param) else param
print(*sorted(set(sys.modules) & set(sys.argv[1:])))
"""


def test_laying_out_the_jobs_loads_no_library_that_only_their_work_needs():
    heavy = ["pandas", "numpy", "jinja2", "docker", "anthropic", "openai"]
    done = completed(sys.executable, "-c", OPEN, "yaml", "httpx2", "zstandard", *heavy)
    assert done.stdout.split() == ["yaml"]
