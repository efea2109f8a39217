"""The prompt: one preamble, the task, one line that names the shell. Nothing else differs between the arms."""

from __future__ import annotations

from fluency.core.shells import find_shell

PREAMBLES = (
    "The current directory is the root of a Rust cargo workspace on a Linux machine. "
    "All paths are relative to it. Write only the requested output to standard output.",
    "The current directory is the root of a Rust cargo workspace on a Linux machine. "
    "The Rust toolchain, git, Perl and Python are not installed. "
    "All paths are relative to it. Write only the requested output to standard output.",
)
"""The first paragraph of each version of the prompt, the present one last.

The earlier ones are kept to recognise what was asked with them: such answers are never used for the present prompt.
"""
PREAMBLE = PREAMBLES[-1]


def build_prompt(task_prompt: str, shell: str, preamble: str = PREAMBLE) -> str:
    """The text a model is sent for one task in one shell."""
    return f"{preamble}\n\n{task_prompt.strip()}\n\n{find_shell(shell).prompt_line}"


def earlier_prompts(task_prompt: str, shell: str) -> list[str]:
    """The texts that earlier versions of the prompt sent for the same task and shell."""
    return [build_prompt(task_prompt, shell, preamble) for preamble in PREAMBLES[:-1]]
