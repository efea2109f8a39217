"""The prompt: one preamble, the task, one line that names the shell. Nothing else differs between the arms."""

from __future__ import annotations

PREAMBLE = (
    "The current directory is the root of a Rust cargo workspace on a Linux machine. "
    "All paths are relative to it. Write only the requested output to standard output."
)
SHELL_LINE = {
    "bash": "Solve this with a single bash command (or bash one-liner pipeline). Output only the command.",
    "pwsh": "Solve this with a single PowerShell 7 command (or pipeline). Output only the command.",
}


def build_prompt(task_prompt: str, shell: str) -> str:
    """The text a model is sent for one task in one shell."""
    return f"{PREAMBLE}\n\n{task_prompt.strip()}\n\n{SHELL_LINE[shell]}"
