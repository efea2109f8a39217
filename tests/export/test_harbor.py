"""The bank as Harbor tasks: their form, what is hidden, and verifiers in containers."""

import gzip
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex

import pytest

from fluency.common.paths import ROOT, SANDBOX
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.study import read_study
from fluency.core.tasks import load_tasks
from fluency.execution.base_image import run_build
from fluency.execution.engine import BUILD_S
from fluency.execution.sandbox import Sandbox
from tools.interop.harbor.export import READY, TAIL, export_tasks, task_files

# Of a service; of processes, by an answer function that reads the world's files too.
SAMPLE = ("fetch-top-crates", "service-replicas")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("harbor") / "tasks"
    export_tasks(read_study().model_copy(update={"tasks": [*SAMPLE]}), folder)
    return folder


def test_harbor_folders_have_harbors_form(written):
    """The instruction is the prompt, and names the file of the answer."""
    expected = {f"{task}-{shell}" for task in SAMPLE for shell in DESIGN_SHELLS}
    assert {path.name for path in written.iterdir()} == expected
    for folder in written.iterdir():
        config = tomllib.loads((folder / "task.toml").read_text())
        assert config["task"]["name"] == f"agent-shell-fluency/{folder.name}"
        assert config["schema_version"] == "1.4"
        assert config["artifacts"] == ["/answer"]
        assert config["verifier"]["environment_mode"] == "separate"
        assert READY in config["environment"]["healthcheck"]["command"]
        assert READY in (folder / "environment/stage.py").read_text()
        task, _, shell = folder.name.rpartition("-")
        text = (folder / "instruction.md").read_text()
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
        rule = json.loads((folder / "tests/rule.json").read_text())
        first, *others = (folder / f"tests/worlds/{seed}.gz" for seed in rule["seeds"])
        files = [task.folder / "answer.py", folder / "tests/verifier.py"]
        hidden = [file.read_bytes() for file in files]
        hidden += [gzip.decompress(file.read_bytes()) for file in others]
        hidden += [command.encode() for command in task.references["bash"]]
        for file in (folder / "environment").iterdir():
            data = file.read_bytes()
            shown = gzip.decompress(data) if file.suffix == ".gz" else data
            assert not any(secret in shown for secret in hidden), file
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


JUDGE_STATE = """
import binascii, hashlib, json, sys
sys.path[:0] = sys.argv[1:]
import stage, verifier
seed, rule = "11", json.load(open(f"{sys.argv[1]}/rule.json"))
tree = verifier.Tree(*stage.read_world(f"{sys.argv[1]}/worlds/{seed}.gz"))
expected, state = verifier.asked(rule, seed, tree, [])
left = {"path": "config/relay.toml", "kind": "file", "mode": 420}
for wanted in ("0" * 64, state["config/relay.toml"]["sha256"]):
    result = {"state": [left | {"sha256": wanted}], "helpers_ended": []}
    print(verifier.state_problem(state, result, tree, []))
for unknown in ([], "why"):
    print(verifier.state_problem(state, {"state": unknown, "helpers_ended": []}, tree, []))
"""


def test_harbor_verifier_judges_the_state(tmp_path):
    """By the copies that it gets: without the project's package."""
    export_tasks(read_study().model_copy(update={"tasks": ["toml-key-in-place"]}), tmp_path)
    paths = [tmp_path / "toml-key-in-place-bash/tests", SANDBOX, ROOT / "tools/interop/harbor"]
    command = [sys.executable, "-I", "-S", "-c", JUDGE_STATE, *map(str, paths)]
    assert subprocess.check_output(command, text=True).splitlines() == [
        "'config/relay.toml' has other bytes than asked for",
        "None",
        "'config/relay.toml' is unchanged",
        "what it left behind is unknown: why",
    ]


# ------------------------------------------------------------ in containers


class Container:
    """A started environment; its methods do what Harbor does."""

    def __init__(self, client, name):
        self.client, self.name = client, name

    def put(self, source, place):
        """Copy a folder into it."""
        with io.BytesIO() as buffer:
            with tarfile.open(fileobj=buffer, mode="w") as tar:
                tar.add(source, arcname=place)
            self.client.put_archive(self.name, "/", buffer.getvalue())

    def run(self, *words):
        """Standard output of a program in it, as root."""
        call = self.client.exec_create(self.name, list(words), user="0")["Id"]
        output = self.client.exec_start(call)
        assert self.client.exec_inspect(call)["ExitCode"] == 0, output
        return output.decode()

    def answer(self):
        """The tar of the folder of the answer."""
        chunks, _ = self.client.get_archive(self.name, "/answer")
        return b"".join(chunks)


@contextmanager
def started(client, tag) -> Iterator[Container]:
    limits = client.create_host_config(network_mode="none", mem_limit="2g", pids_limit=1024)
    made = client.create_container(tag, ["sh", "-c", "sleep infinity"], host_config=limits)["Id"]
    try:
        client.start(made)
        yield Container(client, made)
    finally:
        client.remove_container(made, force=True, v=True)


@contextmanager
def environment(sandbox: Sandbox, source, folder):
    """The image of an environment: the sandbox image and the exporter's lines of its Dockerfile."""
    assert (source / "Dockerfile").read_text().endswith(TAIL)
    for file in ("stage.py", "world.gz"):
        shutil.copy(source / file, folder)
    (folder / "Dockerfile").write_text(f"FROM {sandbox.images['pwsh'].image_id}\n{TAIL}")
    tag = f"agent-shell-harbor:{token_hex(6)}"
    run_build(sandbox._engine, tag=tag, path=str(folder))
    try:
        yield tag
    finally:
        sandbox._engine.client(timeout=BUILD_S).remove_image(tag, force=True)


LOGS = "/logs/verifier"
WRITE = 'printf %s "$0" > /answer/command'


@pytest.mark.engine
@pytest.mark.parametrize("shell", DESIGN_SHELLS)
@pytest.mark.parametrize("name", SAMPLE)
def test_harbor_rewards_the_oracle_alone(written, sandbox, engine, tmp_path, name, shell):
    """`/answer` goes into a fresh copy of the environment, where test.sh writes the reward."""
    if why := sandbox.why_missing(shell):
        pytest.skip(why)
    (task,) = load_tasks([name])
    folder, client = written / f"{name}-{shell}", engine.client(timeout=300)
    with (
        environment(sandbox, folder / "environment", tmp_path) as tag,
        started(client, tag) as agent,
    ):
        agent.put(folder / "solution", "/solution")
        for reward, says, action in (
            ("0", "no answer in", ["true"]),
            ("1", '"passed": true', ["/solution/solve.sh"]),
            ("0", '"passed": false', ["sh", "-c", WRITE, task.wrong[shell][0]]),
        ):
            agent.run(*action)
            with started(client, tag) as verifier:
                client.put_archive(verifier.name, "/", agent.answer())
                verifier.put(folder / "tests", "/tests")
                verifier.run("/tests/test.sh")
                said = verifier.run("cat", f"{LOGS}/reward.txt", f"{LOGS}/details.json")
                assert said.startswith(reward) and says in said, said


def test_program_of_a_layer_is_in_its_own_tasks(tmp_path):
    """And a task without a reference in a shell is left out."""
    asked = {"tasks": ["json-field", "low-coverage"], "shells": ["bash", "python"]}
    export_tasks(read_study().model_copy(update=asked), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"json-field-bash", "json-field-python", "low-coverage-bash"}
    for name in names:
        made = (tmp_path / name / "environment" / "Dockerfile").read_text()
        assert (SHELLS["python"].argv[0] in made) == (name == "json-field-python")
