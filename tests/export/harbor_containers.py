"""Run exported Harbor tasks in containers, as Harbor does.

The environment starts, the oracle (or no agent) works in it, `/answer` goes into a fresh copy of the environment with
the tests, and test.sh writes the reward: 1 for the oracle, 0 for no agent and for a known wrong command. The image is
the local sandbox image with the last lines of the environment's Dockerfile, so that nothing is fetched.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

import docker
import docker.errors

from fluency.common.errors import SandboxError, UserError
from fluency.core.shells import SHELLS
from fluency.core.tasks import load_tasks
from fluency.execution.base_image import run_build
from fluency.execution.engine import BUILD_S, Engine, ensure_engine
from fluency.execution.image import ensure_image, why_missing
from tools.interop.harbor.export import TAIL

WANTED = {"oracle": 1, "no agent": 0, "wrong": 0}
REWARD, DETAILS = "/logs/verifier/reward.txt", "/logs/verifier/details.json"


@dataclass(frozen=True)
class Checked:
    """The rewards of a task folder's verifier, with its reasons; or why nothing ran."""

    task: str
    rewards: dict[str, int] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    skipped: str | None = None

    @property
    def sound(self) -> bool:
        """Whether every one has the reward that it must have."""
        return self.rewards == WANTED


def check_tasks(folders: Sequence[Path]) -> Iterator[Checked]:
    """Check one task folder after the other; the tasks of a shell that the image lacks are skipped with the reason."""
    engine = ensure_engine()
    image = ensure_image(engine=engine)
    for folder in folders:
        shell = next((name for name in SHELLS if folder.name.endswith(f"-{name}")), None)
        if shell is None or not (folder / "task.toml").is_file():
            raise UserError(
                "not an exported task",
                where=str(folder),
                hint="`make harbor INTO=…` writes some",
            )
        if why := why_missing(engine, image, shell):
            yield Checked(
                folder.name, skipped=f"the image has no {SHELLS[shell].short_title}: {why}"
            )
        else:
            with _environment(engine, image.image_id, folder / "environment") as tag:
                yield _check(engine, tag, folder, shell)


def _check(engine: Engine, tag: str, folder: Path, shell: str) -> Checked:
    (task,) = load_tasks([folder.name.removesuffix(f"-{shell}")])
    checked = Checked(folder.name)
    with _container(engine, tag) as agent:
        agent.put(folder / "solution", "/solution")
        for who, action in (
            ("no agent", ["true"]),
            ("oracle", ["/solution/solve.sh"]),
            ("wrong", ["sh", "-c", 'printf %s "$0" > /answer/command', task.wrong[shell][0]]),
        ):
            agent.run(*action)
            reward, why = _verified(engine, tag, folder, _copied(agent, "/answer"))
            checked.rewards[who], checked.why[who] = reward, why
    return checked


def _verified(engine: Engine, tag: str, folder: Path, answer: bytes) -> tuple[int, str]:
    with _container(engine, tag) as verifier:
        verifier.client.put_archive(verifier.name, "/", answer)
        verifier.put(folder / "tests", "/tests")
        verifier.run("/tests/test.sh")
        return int(_text(_copied(verifier, REWARD))), _text(_copied(verifier, DETAILS))


@dataclass(frozen=True)
class _Container:
    """A started environment."""

    client: docker.APIClient
    name: str

    def put(self, source: Path, place: str) -> None:
        """Copy a folder into it."""
        with io.BytesIO() as buffer:
            with tarfile.open(fileobj=buffer, mode="w") as tar:
                tar.add(source, arcname=place.lstrip("/"))
            self.client.put_archive(self.name, "/", buffer.getvalue())

    def run(self, *words: str) -> None:
        """Run a program in it as root; SandboxError with its last words if it fails."""
        call = self.client.exec_create(self.name, list(words), user="0")["Id"]
        output = self.client.exec_start(call)
        if code := self.client.exec_inspect(call)["ExitCode"]:
            last = output.decode("utf-8", "replace").strip()[-300:]
            raise SandboxError(
                f"{words[-1]} ended with {code}: {last}",
                where=self.name,
                hint="see the task's tests",
            )


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
    """The environment's image: the sandbox image here, and the lines that the exporter put behind its Dockerfile."""
    if not (folder / "Dockerfile").read_text(encoding="utf-8").endswith(TAIL):
        raise UserError(
            "it does not end as this version writes it", where=str(folder / "Dockerfile")
        )
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


def _copied(container: _Container, path: str) -> bytes:
    """A file or folder of a container as a tar."""
    try:
        chunks, _ = container.client.get_archive(container.name, path)
        return b"".join(chunks)
    except docker.errors.NotFound:
        raise SandboxError(
            f"{path} is missing", where=container.name, hint="the verifier broke off"
        ) from None


def _text(tar: bytes) -> str:
    with tarfile.open(fileobj=io.BytesIO(tar)) as files:
        (member,) = files.getmembers()
        file = files.extractfile(member)
        return file.read().decode("utf-8") if file else ""
