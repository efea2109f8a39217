"""Why a cell failed: one class of a closed set, and one sentence.

The first row that applies is the class. "A run" is a failing run of the headline: as designed,
strict reading.

==================  ==============================================================================
refusal             the model declined
empty               the reply holds no command
truncated           the reply hit the token limit
no-tool-call        a tool must be called, and the reply holds no such call, or one of another
                    shape
thinking-in-answer  the model's thinking is in the reply, before the command
format              the reply is prose or holds a prompt sign, loose fences or several blocks, and
                    as it stands does not parse, calls a command that is not there, or cannot be
                    started
other-dialect       the shell cannot read it or lacks its commands, and it is written in the other
                    dialect
does-not-parse      the shell says so, or it says nothing at all and the grammar says so
missing-program     a command it calls is not there, and every such one exists elsewhere
invented-command    a command it calls is not there, nor anywhere else
timeout             a run was stopped at the deadline
resource-limit      a run met a limit: memory, file size, processes, room, output, length of the
                    command line
non-zero-exit       a run ended with another exit code than 0, or by a signal
one-world-only      it is right in some worlds only: luck, or fitted to one
table-noise         the answer is there, with header, rule or group lines around it
no-output           exit code 0, and nothing was printed
wrong-structure     the output is not of the form that was asked for
side-effects        a run left processes behind or stopped what the task set up
silent-wrong        exit code 0, right form, wrong content, or another state than asked for
==================  ==============================================================================
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from fluency.core.dialects.tree import Call
from fluency.core.grammar import parse
from fluency.core.records import THINKING, Extraction, FailureClass, Outcome, Result, side_effects
from fluency.core.shells import Shell
from fluency.scoring import commands
from fluency.scoring.checks import quoted
from fluency.scoring.judgement import Judgement

SIGXCPU, SIGXFSZ = 24, 25
_LIMIT = re.compile(
    r"File size limit exceeded|File too large|Cannot allocate memory|No space left on device"
    r"|Resource temporarily unavailable|OutOfMemoryException|Too many open files"
    r"|Argument list too long",
    re.IGNORECASE,
)
_CURL_METER = re.compile(
    r"^\s*(?:% Total +%.*|Dload +Up.*"
    r"|(?:\d[\d.]*[kMGTP]? +){8}(?:[\d:-]+ +){3}\d[\d.]*(?:[kMGTP](?![a-z]))?)"
)
_SENTENCE = re.compile(r"(?:^|\n)[A-Z][a-z']* [\w'`,/-]+ [\w'`,/-].*[.:!?](?:\s|$)")


class HeadlineRun(NamedTuple):
    """A run of the headline with its judgement."""

    seed: int
    result: Result
    judgement: Judgement

    @property
    def passed(self) -> bool:
        """A command that stopped what the task set up never passes."""
        return self.judgement.passed and self.result.helpers_intact


class Classification(NamedTuple):
    """The class, None if the cell passed, and one sentence."""

    failure_class: FailureClass | None
    why: str


_Failed = tuple[FailureClass, str]
_NO_COMMAND: dict[str, _Failed] = {
    "refusal": ("refusal", "The model declined to answer."),
    "empty": ("empty", "The reply holds no command."),
    "truncated": ("truncated", "The reply was cut at the token limit."),
    "no-call": ("no-tool-call", "The reply is no call of the tool with one command."),
}


def classify(
    outcome: Outcome, extraction: Extraction, shell: Shell, runs: Sequence[HeadlineRun]
) -> Classification:
    """The class of a measured cell from its reply's outcome, its command and its headline runs.

    There is one headline run for each world.
    """
    no_command = outcome == "ok" and extraction.strict is None
    if unusable := _NO_COMMAND.get("empty" if no_command else outcome):
        return Classification(*unusable)
    failing = [run for run in runs if not run.passed]
    if not failing:
        return Classification(None, "Right in every world." if len(runs) != 1 else "Right.")
    if THINKING in extraction.notes:
        why = "The model's thinking is in the reply; the server has a setting that takes it out."
        return Classification("thinking-in-answer", why)
    found = _unreadable(extraction, shell, failing) or _ended_badly(failing)
    return Classification(*found or _wrong_output(failing, len(failing) < len(runs)))


def _unreadable(extraction: Extraction, shell: Shell, failing: list[HeadlineRun]) -> _Failed | None:
    command, grammar = extraction.strict or "", shell.grammar
    accepted = parse(grammar, command).parses
    broken = [run for run in failing if commands.is_syntax_error(shell, run.result, accepted)]
    said = "\n".join(commands.stderr_of(run.result) for run in failing)
    names = list(dict.fromkeys(re.findall(shell.missing_command, said, re.MULTILINE)))
    # Without a parser the shell's own messages alone say what went wrong.
    silent = [run for run in failing if run.result.exit_code == 127] if grammar else []
    absent = bool(names or silent)
    unstarted = any(run.result.spawn_error is not None for run in failing)
    if not (broken or absent or unstarted):
        return None
    if extraction.lenient != extraction.strict:
        loose = f"More than the command was in the reply: {', '.join(extraction.notes)}."
        return "format", loose
    if _SENTENCE.search(command[:2_000]):
        return "format", f"The reply is prose: {quoted(command)}."
    if not (broken or absent):
        return None
    listed = ", ".join(map(quoted, names[:3])) or "a command (exit code 127)"
    problem = f"{shell.title} " + ("cannot parse it" if broken else f"does not find {listed}")
    if grammar and commands.is_other_dialect(command, shell, bool(broken), names):
        written_for = f"It is written for {shell.other_dialect.title}"
        return "other-dialect", f"{written_for}, and {problem}."
    if broken:
        return "does-not-parse", f"{problem}{first_message(broken[0].result)}."
    if grammar and not names:  # a silent 127 is about the program that was called last
        calls = parse(grammar, command).calls or [Call("", ())]
        *_, last = commands.calls_of(calls[-1], grammar)
        names = [last.name]
    there = all(commands.is_known_command(name, grammar) for name in names)
    return "missing-program" if there else "invented-command", f"{problem}."


def _ended_badly(failing: list[HeadlineRun]) -> _Failed | None:
    for run in failing:
        if run.result.timed_out:
            return "timeout", _in_world(run)
    for run in failing:
        if limit := _limit(run.result):
            return "resource-limit", f"World {run.seed}: {limit}."
    for run in failing:
        if not run.judgement.exit_ok:
            return "non-zero-exit", _in_world(run, first_message(run.result))
    return None


def _limit(result: Result) -> str | None:
    if result.spawn_error is not None:
        return f"the command could not be started: {result.spawn_error}"
    if result.lost is not None:
        return f"its result was lost: {result.lost}"
    if result.used.oom_killed:
        return "it ran out of memory"
    if result.signal in (SIGXCPU, SIGXFSZ) or result.exit_code in (128 + SIGXCPU, 128 + SIGXFSZ):
        return "it met the limit of a file's size or of processor time"
    if result.stdout.truncated:
        return f"it wrote {result.stdout.bytes} bytes to standard output, more than is kept"
    found = _LIMIT.search(commands.stderr_of(result)) if result.exit_code != 0 else None
    return f"it met a limit ({found[0]})" if found else None


def _wrong_output(failing: list[HeadlineRun], some_passed: bool) -> _Failed:
    first = failing[0]
    for run in failing:
        if run.judgement.passed:
            why = f"World {run.seed}: the output is right, but {side_effects(run.result)[-1]}."
            return "side-effects", why
    if some_passed:
        why = f"Right in another world, but in {_lower(_in_world(first))}"
        return "one-world-only", why
    if all(run.judgement.table_noise for run in failing):
        return "table-noise", _in_world(first)
    if all(run.judgement.empty for run in failing):
        return "no-output", _in_world(first)
    for run in failing:
        if not run.judgement.structure_ok:
            return "wrong-structure", _in_world(run)
    for run in failing:
        if run.result.leftover or not run.result.helpers_intact:
            effects = ", ".join(side_effects(run.result))
            why = f"World {run.seed}: {effects}; {_lower(run.judgement.why)}"
            return "side-effects", why
    return "silent-wrong", _in_world(first)


def _in_world(run: HeadlineRun, more: str = "") -> str:
    return f"World {run.seed}: {_lower(run.judgement.why).rstrip('.')}{more}."


def first_message(result: Result) -> str:
    """The first message on standard error, in parentheses, as the end of a sentence.

    A progress meter is not a message.
    """
    for line in commands.stderr_of(result).splitlines():
        text = _CURL_METER.sub("", line).strip(" |~+-")
        if text and text not in ("ParserError:", "Line") and not re.fullmatch(r"\d+ \|.*", text):
            return f" ({quoted(text, 160)})"
    return ""


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
