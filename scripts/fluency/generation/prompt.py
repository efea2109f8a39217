"""The prompt: one preamble, the task, one line that names the shell. Nothing else differs between the arms."""

from __future__ import annotations

from fluency.core.shells import find_shell

PREAMBLE = (
    "The current directory is the root of a Rust cargo workspace on a Linux machine. "
    "All paths are relative to it. Write only the requested output to standard output."
)


def build_prompt(task_prompt: str, shell: str) -> str:
    """The text a model is sent for one task in one shell."""
    return f"{PREAMBLE}\n\n{task_prompt.strip()}\n\n{find_shell(shell).prompt_line}"
