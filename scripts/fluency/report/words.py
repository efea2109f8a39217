"""Words that need no analysis: names of shells, and at which attempt a cell was measured."""

from collections.abc import Iterable, Mapping, Sequence

from fluency.core.shells import SHELLS


def short_name(shell: str) -> str:
    """A shell's name in sentences and headers; any other word as it is."""
    return SHELLS[shell].short_title if shell in SHELLS else shell


def full_name(shell: str) -> str:
    """A shell's name with its version; any other word as it is."""
    return SHELLS[shell].title if shell in SHELLS else shell


def short_names(shells: Iterable[str]) -> list[str]:
    """As they appear in sentences and headers."""
    return [short_name(shell) for shell in shells]


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)


def in_shells(counts: Mapping[str, object], attribute: str = "") -> str:
    """`1 in Bash and 2 in PowerShell`; the counts may be an attribute of what is held."""
    numbers = (getattr(each, attribute) if attribute else each for each in counts.values())
    return listed([f"{n} in {short_name(s)}" for s, n in zip(counts, numbers, strict=True)])


def attempt_note(number: int | None, measured: bool) -> str | None:
    """At which attempt a cell was measured or the last one failed; None at the first.

    An answer without a command is measured without any.
    """
    if number is None or number < 2:
        return None
    ordinal = f"{number}{ {2: 'nd', 3: 'rd'}.get(number, 'th') }"
    return f"{'measured at' if measured else 'abandoned after'} the {ordinal} attempt"
