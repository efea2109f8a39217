"""What a cell comes down to: its row in the table."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fluency.core.part import Part

Status = Literal["measured", "not_measured", "missing"]
WAITING = {stage: f"no {stage} yet" for stage in ("generation", "execution", "score")}
"""What a cell waits for -> the reason why it is missing."""


class Row(Part):
    """A row of `results/<study>/cells.csv`; empty fields are unknown, never zero."""

    model: str = Field(description="Alias of the model in the study.")
    shell: str = Field(description="The arm: the shell that was asked for.")
    task: str = Field(description="Id of the task.")
    trial: int = Field(description="Number of the independent answer, from 1.")
    category: str = Field(description="Kind of the task.")
    status: Status = Field(description="missing: no measurement yet, or given up; not_measured: the arm cannot be.")
    reason: str | None = Field(None, description="Why, of missing and not_measured.")
    passed: bool | None = Field(
        None, description="Exit code 0 and the right output, in every world: the headline. Empty: not measured."
    )
    structural_pass: bool | None = Field(
        None, description="Exit code 0 and the structural check alone, in every world."
    )
    exit_ok: bool | None = Field(None, description="Exit code 0 in every world.")
    content_ok: bool | None = Field(None, description="The right output in every world, whatever the exit code.")
    lenient_passed: bool | None = Field(
        None, description="As `passed`, with the command also taken out of prose and fences."
    )
    no_unix_tools_passed: bool | None = Field(
        None, description="As `passed`, without Unix programs on PATH; empty where that was not run."
    )
    windows_aliases_passed: bool | None = Field(
        None, description="As `passed`, with the aliases of PowerShell on Windows; empty where that was not run."
    )
    worlds_passed: int | None = Field(
        None, description="Worlds in which the headline's run passed (as designed, strict reading)."
    )
    worlds_run: int | None = Field(None, description="Worlds the command ran in for the headline.")
    failure_class: str | None = Field(
        None, description="Why it failed, of a closed set; empty: it passed, or is not measured."
    )
    why: str | None = Field(None, description="The finding that decided, in a sentence.")
    made_of: str | None = Field(
        None, description="What the answer is made of: cmdlets-only, mixed, unix-only and others."
    )
    commands: str | None = Field(
        None, description="Names of the commands it calls in order of appearance, separated by blanks."
    )
    outcome: str | None = Field(None, description="Of the generation: ok, refusal, truncated or empty.")
    command: str | None = Field(
        None, description="The command as it ran, in the strict reading; empty: nothing was left of the reply."
    )
    input_tokens: int | None = Field(None, description="As the server counted them.")
    output_tokens: int | None = Field(None, description="As the server counted them.")
    cost_usd: float | None = Field(None, description="Dollars by the price of its day; empty: the model has no price.")
    temperature_sent: str | None = Field(None, description="A number, or `provider-default`.")
    model_echoed: str | None = Field(None, description="The name of the model that came back.")
    t_gen_s: float | None = Field(
        None, description="Seconds from request to last byte; empty for batches and where the server gave none."
    )
    t_exec_s: float | None = Field(None, description="Seconds of the command alone, mean over the headline's worlds.")
    timed_out: bool | None = Field(None, description="Whether a run of the headline met its deadline.")
    peak_memory_bytes: int | None = Field(
        None, description="Of the whole container, largest over the headline's worlds."
    )
    cpu_s: float | None = Field(None, description="Seconds of processor time, mean over the headline's worlds.")
    peak_processes: int | None = Field(None, description="Largest over the headline's worlds.")
    written_bytes: int | None = Field(None, description="In /tmp and HOME; largest over the headline's worlds.")
    output_truncated: bool | None = Field(None, description="A stream was longer than what is kept of it.")
    side_effects: str | None = Field(
        None, description="What the command left behind, separated by semicolons; never judged."
    )
    attempts: int | None = Field(None, description="Times that its commands were started; null: not executed.")
    asked_utc: str | None = Field(None, description="When the answer arrived, UTC.")
