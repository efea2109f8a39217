"""Write the table of docs/threat-model.md that says what the seccomp profile takes away: `python -m tests.execution.seccomp_table`."""

from __future__ import annotations

from fluency.common.files import write_atomic
from fluency.common.paths import ROOT
from fluency.execution.isolation import reductions

PAGE = ROOT / "docs" / "threat-model.md"
BEGIN, END = "<!-- seccomp:begin -->\n", "<!-- seccomp:end -->"


def table() -> str:
    """The tables of what is refused and of what stays, from the data."""
    less = reductions()
    wholes = [(part["what"], "", part["why"]) for part in (less[key] for key in ("sockets", "personality", "abis"))]
    removed = [(entry["what"], code(entry["syscalls"]), entry["why"]) for entry in less["removed"]]
    theirs = [(less["capabilities"]["what"], "", less["capabilities"]["why"])]
    theirs += [(entry["what"], code(entry["syscalls"]), entry["why"]) for entry in less["never"]]
    stays = [(code(entry["syscalls"]), entry["for"]) for entry in less["kept"]]
    stays += [(f"sockets of {entry['name']}", entry["for"]) for entry in less["sockets"]["allowed"]]
    return "\n".join(
        [
            *rows("taken away", "system calls", "why", given=removed + wholes),
            *rows("refused by the default too, and seen to be", "system calls", "why", given=theirs),
            *rows("stays", "for", given=stays),
        ]
    )


def code(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def rows(*head: str, given: list[tuple[str, ...]]) -> list[str]:
    lines = [head, ["---"] * len(head), *given]
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]


def written(page: str) -> str:
    """The page with the table as the data has it."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    write_atomic(PAGE, written(PAGE.read_text(encoding="utf-8")))
