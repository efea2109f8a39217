import pytest

from tests.generation.endpoint import Endpoint
from tests.workflow.project import Project, model, reference_answer


@pytest.fixture(scope="session")
def flawless():
    with Endpoint(reference_answer) as server:
        yield server


@pytest.fixture(scope="session")
def finished(sandbox, flawless, tmp_path_factory):
    """A project whose small study was run to its end; clone it before changing it."""
    project = Project.make(
        tmp_path_factory.mktemp("finished") / "project", models=[model(flawless.url)]
    )
    project.snakemake()
    return project


@pytest.fixture
def project(finished, flawless, tmp_path):
    """A finished project of one's own; the endpoint's count starts at nothing."""
    flawless.requests.clear()
    return finished.clone(tmp_path / "project")
