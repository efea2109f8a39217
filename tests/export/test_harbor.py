"""The bank as Harbor tasks: their form, what is hidden, and verifiers in containers."""

import gzip
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from fluency.common.paths import ROOT
from fluency.core.shells import SHELLS
from fluency.core.study import Study, read_study
from fluency.core.tasks import load_tasks
from tests.export.harbor_containers import rewards
from tools.interop.harbor.export import READY, export_tasks, task_files

# Of a service; of processes, by an answer function that reads the world's files too.
SAMPLE = ("fetch-top-crates", "service-replicas")


def study_of(tasks: tuple[str, ...]) -> Study:
    return read_study().model_copy(update={"tasks": list(tasks)})


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("harbor") / "tasks"
    export_tasks(study_of(SAMPLE), folder)
    return folder


def texts(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        yield path.name, gzip.decompress(data) if path.suffix == ".gz" else data


def test_harbor_folders_have_harbors_form(written):
    """The instruction is the prompt, and names the file of the answer."""
    assert {path.name for path in written.iterdir()} == {
        f"{task}-{shell}" for task in SAMPLE for shell in SHELLS
    }
    for folder in written.iterdir():
        config = tomllib.loads((folder / "task.toml").read_text(encoding="utf-8"))
        assert config["task"]["name"] == f"agent-shell-fluency/{folder.name}"
        assert config["schema_version"] == "1.4"
        assert config["artifacts"] == ["/answer"]
        assert config["verifier"]["environment_mode"] == "separate"
        assert READY in config["environment"]["healthcheck"]["command"]
        assert READY in (folder / "environment" / "stage.py").read_text(encoding="utf-8")
        task, _, shell = folder.name.rpartition("-")
        text = (folder / "instruction.md").read_text(encoding="utf-8")
        first = SHELLS[shell].prompt_line.split(".")[0]
        prompt = load_tasks([task])[0].prompt.strip()
        assert all(part in text for part in (prompt, "`/answer/command`", first))
        assert "Output only" not in text
        assert (folder / "environment/Dockerfile").is_file()
        for name in ("solution/solve.sh", "tests/test.sh"):
            assert (folder / name).stat().st_mode & 0o111, name


def test_harbor_environment_hides_the_verifier(written):
    for task in load_tasks(SAMPLE):
        folder = written / f"{task.id}-bash"
        rule = json.loads((folder / "tests/rule.json").read_text(encoding="utf-8"))
        first, *others = (folder / f"tests/worlds/{seed}.gz" for seed in rule["seeds"])
        files = [task.folder / "answer.py", folder / "tests/verifier.py"]
        hidden = [file.read_bytes() for file in files]
        hidden += [gzip.decompress(file.read_bytes()) for file in others]
        hidden += [command.encode() for command in task.references["bash"]]
        for name, data in texts(folder / "environment"):
            assert not any(secret in data for secret in hidden), name
        assert (folder / "environment/world.gz").read_bytes() == first.read_bytes()
        assert (rule["expected"] is None) == ("processes" in task.needs)


def test_harbor_export_repeats_bytes_and_copies_the_judge(written):
    (task,) = load_tasks([SAMPLE[0]])
    again = dict(task_files(task, SHELLS["bash"], read_study()))
    folder = written / f"{task.id}-bash"
    for name, data in again.items():
        expected = data if isinstance(data, bytes) else data.encode()
        assert (folder / name).read_bytes() == expected, name
    for judge in ("scoring/checks.py", "common/words.py"):
        ours = (ROOT / "scripts/fluency" / judge).read_bytes()
        assert (folder / "tests/fluency" / judge).read_bytes() == ours


@pytest.mark.engine
def test_harbor_rewards_the_oracle_alone(written, sandbox):
    for task in load_tasks(SAMPLE):
        for shell in SHELLS:
            if sandbox.why_missing(shell):
                continue
            folder = written / f"{task.id}-{shell}"
            found, why = rewards(sandbox._engine, sandbox.image.image_id, folder, task, shell)
            assert found == {"oracle": 1, "no agent": 0, "wrong": 0}, why
            assert "no answer in" in why["no agent"] and json.loads(why["oracle"])["passed"]
