"""What a cell comes down to: its row in the table."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fluency.core.part import Part

Status = Literal["measured", "not_measured", "missing"]


class Row(Part):
    """A row of `results/<study>/cells.csv`; empty fields are unknown, never zero."""

    model: str
    shell: str
    task: str
    trial: int
    category: str
    status: Status = Field(description="missing: no measurement yet, or given up; not_measured: the arm cannot be.")
    reason: str | None = Field(None, description="Of missing and not_measured.")
    passed: bool | None = None
    structural_pass: bool | None = None
    exit_ok: bool | None = None
    content_ok: bool | None = None
    lenient_passed: bool | None = None
    no_unix_tools_passed: bool | None = None
    windows_aliases_passed: bool | None = None
    worlds_passed: int | None = Field(None, description="Of the headline's runs (as designed, strict).")
    worlds_run: int | None = None
    failure_class: str | None = None
    why: str | None = None
    made_of: str | None = None
    commands: str | None = Field(None, description="Separated by blanks.")
    outcome: str | None = Field(None, description="Of the generation.")
    command: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    temperature_sent: str | None = Field(None, description="A number, or `provider-default`.")
    model_echoed: str | None = None
    t_gen_s: float | None = Field(None, description="Null for batches and where the server gave none.")
    t_exec_s: float | None = Field(None, description="Mean over the headline's worlds.")
    timed_out: bool | None = None
    peak_memory_bytes: int | None = Field(None, description="Largest over the headline's worlds.")
    cpu_s: float | None = Field(None, description="Mean over the headline's worlds.")
    peak_processes: int | None = Field(None, description="Largest over the headline's worlds.")
    written_bytes: int | None = Field(None, description="In /tmp and HOME; largest over the headline's worlds.")
    output_truncated: bool | None = Field(None, description="A stream was longer than what is kept of it.")
    side_effects: str | None = None
    attempts: int | None = Field(None, description="Times that its commands were started; null: not executed.")
    asked_utc: str | None = None
