"""A study with a private task, through the commands: what it publishes, and what it redoes when the task changes."""

import subprocess
import sys

import pytest

from fluency.archive.manifest import private_archive_name
from tests.archive.hostile import contents
from tests.archive.test_private_tasks import CANARY, SECRET, leaks, write_task
from tests.generation.endpoint import Endpoint
from tests.workflow.project import Project, model

pytestmark = pytest.mark.engine
OPEN = "tree-size-bytes"


def test_a_run_archives_a_private_task_apart_and_reruns_what_changes_with_it(sandbox, tmp_path, monkeypatch):
    folder = write_task(tmp_path / "xyzzy" / SECRET)
    monkeypatch.setenv("TASKS_PRIVATE", str(folder.parent))
    with Endpoint(lambda prompt: "cat kanarie/*; ls xyzzy-nothing" if "xyzzy" in prompt else "ls") as server:
        project = Project.make(tmp_path / "project", models=[model(server.url)], shells=["bash"], control=True)
        project.configure(tasks=[SECRET, OPEN])
        command = [sys.executable, "-m", "fluency.cli", "archive", "--configfile", "config/test.yaml"]
        packed = subprocess.run(
            command, cwd=project.root, env=project.environ(), capture_output=True, text=True, timeout=600
        )
        assert packed.returncode == 0, packed.stderr
        path = project.root / packed.stdout.splitlines()[-1]
        part = path.with_name(private_archive_name(path.name))
        assert f"stand in {part.name}: do not publish it" in packed.stdout + packed.stderr
        files = contents(path)
        assert leaks(files) == [] and {f"results/test/{name}" for name in ("control.json", "explorer.html")} <= {*files}
        assert {f"results/executions/good/bash/{SECRET}/1.json", f"tasks/{SECRET}/fixture.py"} <= {
            *leaks(contents(part))
        }
        written = [file for place in ("logs", "results/test") for file in (project.root / place).rglob("*.*")]
        assert not any(CANARY.search(file.read_bytes()) for file in written if file.is_file())

        assert project.to_do() == {}
        (folder / "answer.py").write_text((folder / "answer.py").read_text() + "# later\n")
        assert project.to_do() == {"score": 1, "gather": 1, "report": 1, "control": 1}
        fixture = folder / "fixture.py"
        fixture.write_text(fixture.read_text().replace("xyzzy-without", "xyzzy-otherwise"))
        assert project.to_do() == {"execute": 1, "score": 1, "gather": 1, "report": 1, "control": 1}
