"""Run exported Harbor tasks in containers, as Harbor does.

The environment starts, an agent works in it, `/answer` goes into a fresh copy of the environment
with the tests, and test.sh writes the reward. The image is the local sandbox image with the last
lines of the environment's Dockerfile, so that nothing is fetched.
"""

import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

import docker

from fluency.core.tasks import Task
from fluency.execution.base_image import run_build
from fluency.execution.engine import BUILD_S, Engine
from tools.interop.harbor.export import TAIL

REWARD, DETAILS = "/logs/verifier/reward.txt", "/logs/verifier/details.json"


def rewards(
    engine: Engine, image_id: str, folder: Path, task: Task, shell: str
) -> tuple[dict[str, int], dict[str, str]]:
    """The rewards of no agent, the oracle, and a known wrong command, and the reasons of each."""
    found: dict[str, int] = {}
    why: dict[str, str] = {}
    with (
        _environment(engine, image_id, folder / "environment") as tag,
        _container(engine, tag) as agent,
    ):
        agent.put(folder / "solution", "/solution")
        for who, action in (
            ("no agent", ["true"]),
            ("oracle", ["/solution/solve.sh"]),
            ("wrong", ["sh", "-c", 'printf %s "$0" > /answer/command', task.wrong[shell][0]]),
        ):
            agent.run(*action)
            with _container(engine, tag) as verifier:
                verifier.client.put_archive(verifier.name, "/", agent.tar_of("/answer"))
                verifier.put(folder / "tests", "/tests")
                verifier.run("/tests/test.sh")
                found[who] = int(verifier.text(REWARD))
                why[who] = verifier.text(DETAILS)
    return found, why


class _Container:
    """A started environment."""

    def __init__(self, client: docker.APIClient, name: str) -> None:
        self.client, self.name = client, name

    def put(self, source: Path, place: str) -> None:
        """Copy a folder into it."""
        with io.BytesIO() as buffer:
            with tarfile.open(fileobj=buffer, mode="w") as tar:
                tar.add(source, arcname=place.lstrip("/"))
            self.client.put_archive(self.name, "/", buffer.getvalue())

    def run(self, *words: str) -> None:
        """Run a program in it as root."""
        call = self.client.exec_create(self.name, list(words), user="0")["Id"]
        output = self.client.exec_start(call)
        assert self.client.exec_inspect(call)["ExitCode"] == 0, output

    def tar_of(self, path: str) -> bytes:
        """A file or folder of it as a tar."""
        chunks, _ = self.client.get_archive(self.name, path)
        return b"".join(chunks)

    def text(self, path: str) -> str:
        with tarfile.open(fileobj=io.BytesIO(self.tar_of(path))) as files:
            (member,) = files.getmembers()
            return files.extractfile(member).read().decode()


@contextmanager
def _container(engine: Engine, tag: str) -> Iterator[_Container]:
    client = engine.client(timeout=300)
    limits = client.create_host_config(network_mode="none", mem_limit="2g", pids_limit=1024)
    made = client.create_container(tag, ["sh", "-c", "sleep infinity"], host_config=limits)["Id"]
    try:
        client.start(made)
        yield _Container(client, made)
    finally:
        client.remove_container(made, force=True, v=True)


@contextmanager
def _environment(engine: Engine, image_id: str, folder: Path) -> Iterator[str]:
    """The environment's image: the sandbox image, and the exporter's lines of its Dockerfile."""
    assert (folder / "Dockerfile").read_text(encoding="utf-8").endswith(TAIL)
    tag = f"agent-shell-harbor:{token_hex(6)}"
    with io.BytesIO() as buffer:
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            lines = f"FROM {image_id}\n{TAIL}".encode()
            member = tarfile.TarInfo("Dockerfile")
            member.size = len(lines)
            tar.addfile(member, io.BytesIO(lines))
            for name in ("stage.py", "world.gz"):
                tar.add(folder / name, arcname=name)
        buffer.seek(0)
        run_build(engine, tag=tag, fileobj=buffer, custom_context=True)
    try:
        yield tag
    finally:
        engine.client(timeout=BUILD_S).remove_image(tag, force=True)
