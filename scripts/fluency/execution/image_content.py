"""What the image is built from, hashed.

Imports no engine client: rerun keys need it at every start.
"""

from collections.abc import Iterable
from pathlib import Path

from fluency.common.canonical import canonical_sha256
from fluency.common.files import sha256_file
from fluency.common.paths import SANDBOX
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.execution.protocol import RUNNER_PROTOCOL

REPOSITORY = "agent-shell-sandbox"
SOURCES = (
    *("Dockerfile", "finish.sh", "helper.c", "packages-build.txt", "packages.txt"),
    *("command.py", "processes.py", "runner.py", "routes.py", "service.py", "tree.py"),
)


def shells_in(shell: str) -> tuple[str, ...]:
    """The shells in the image of one: the canary's, which Debian has, and that one."""
    return tuple(dict.fromkeys((DESIGN_SHELLS[0], shell)))


def content_sha256(shells: Iterable[str] = (), folder: Path = SANDBOX) -> str:
    """SHA-256 of the source files in a folder, the protocol, and these shells with conditions."""
    entries = {
        shell.name: [
            *(shell.argv, shell.install.packages, shell.version_command),
            {
                one.name: [one.unix_tools, one.removed_arguments, one.home_files]
                for one in shell.conditions
            },
            *([shell.install.model_dump(exclude={"packages"})] if shell.install.is_layer else []),
        ]
        for shell in map(SHELLS.__getitem__, shells)
    }
    files = {name: sha256_file(folder / name) for name in SOURCES}
    return canonical_sha256({"protocol": RUNNER_PROTOCOL, "shells": entries} | files)
