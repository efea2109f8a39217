"""The study: config.yaml and its overrides, validated, as frozen objects.

`config.yaml` is the default; each further file replaces what it names. Lists are replaced whole and
mappings are merged, which is what Snakemake does with `--configfile`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, ValidationError, field_validator, model_validator

from fluency.common.canonical import EXACT
from fluency.common.errors import UserError
from fluency.common.paths import CONFIG
from fluency.core.cells import Cell
from fluency.core.conditions import AS_DESIGNED, CONDITIONS, ConditionName
from fluency.core.config_files import explain, merge, read_yaml
from fluency.core.deadline import FLOOR_S
from fluency.core.model_config import Config, ModelConfig
from fluency.core.seed_seal import FORM
from fluency.core.shells import DESIGN, SHELLS, ShellName
from fluency.core.task_sets import PILOT

Seed = Annotated[int, Field(ge=-EXACT, le=EXACT)]


STUDY_NAME = r"^[a-z0-9][a-z0-9-]{0,40}$"
# One form or the other, so that a mistake is told of the form that was meant.
Wanted = Annotated[
    Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,40}$"), Tag("literal[set]")]
    | Annotated[list[str], Field(min_length=1), Tag("list[ids]")],
    Discriminator(lambda value: "literal[set]" if isinstance(value, str) else "list[ids]"),
]


class Limits(Config):
    """What one execution may use, alike for both arms."""

    timeout_s: dict[ShellName, float] = Field(
        default_factory=lambda: dict.fromkeys(SHELLS, FLOOR_S),
        description="Deadline of a command, seconds; no less than max(30, 10 x slowest reference), see docs/method.md.",
    )
    memory_mb: int = Field(1024, ge=256, description="Of the whole container, helpers included; no swap.")
    pids: int = Field(256, ge=64, description="Processes and threads in the container.")
    output_bytes: int = Field(1_048_576, ge=1024, description="Kept of each stream; the rest is counted.")
    file_mb: int = Field(64, ge=64, description="Largest file a command may write; PowerShell needs 64.")
    tmpfs_mb: int = Field(64, ge=16, description="Room in /tmp and in HOME, each.")
    open_files: int = Field(1024, ge=256, description="Open files a process.")

    @field_validator("timeout_s")
    @classmethod
    def _both_shells(cls, value: dict[str, float]) -> dict[str, float]:
        merged = dict.fromkeys(SHELLS, FLOOR_S) | value
        if any(not 1 <= seconds <= 600 for seconds in merged.values()):
            raise ValueError("a deadline lies between 1 and 600 seconds")
        return merged


class SandboxConfig(Config):
    """The container engine and its limits."""

    parallel: int | None = Field(None, ge=1, le=64, description="Containers at a time; empty: one a processor.")
    limits: Limits = Field(default_factory=Limits, description="What one execution may use.")

    @property
    def containers(self) -> int:
        """Containers at a time on this machine."""
        return self.parallel or os.cpu_count() or 1


class Budget(Config):
    """Dollars. Above `confirm_usd` a run asks; at `stop_usd` it stops with everything earned kept."""

    confirm_usd: float = Field(1.0, ge=0, description="A run that may cost more asks first.")
    stop_usd: float = Field(10.0, gt=0, description="Where a run stops, from the usage that came back.")


class Study(Config):
    """A validated configuration: what is asked of whom, how often, and where it runs."""

    study: str = Field(pattern=STUDY_NAME, description="Name of the study, and of its folder.")
    decision: str = Field("", description="The decision this study is for; empty: none, exploratory.")
    tasks: Wanted = Field(
        PILOT,
        description="A set of `tasks/sets.yaml` (`pilot-20`, `full-60`), a list of task ids, or `all` in the bank.",
    )
    shells: Annotated[list[ShellName], Field(min_length=1)] = Field(
        default_factory=lambda: list(DESIGN), description="The arms."
    )
    trials: int = Field(5, ge=1, le=100, description="Independent answers a cell of task and shell.")
    seeds: list[Seed] = Field(
        default_factory=lambda: [11, 24],
        description="Worlds each answer runs in; at least one odd and one even. `commit:<SHA-256>` commits to "
        "seeds that are revealed later (`make seeds`): such a study can be registered and not yet run.",
    )
    seeds_salt: str = Field("", description="Opens the commitment, with the seeds that are revealed.")
    seeds_sealed: str | None = Field(None, pattern=FORM, description="Where `seeds: commit:…` is kept; not to be set.")
    conditions: Annotated[list[ConditionName], Field(min_length=1)] = Field(
        default_factory=lambda: list(CONDITIONS),
        description="as_designed is the headline. Of PowerShell answers, no_unix_tools runs each again without Unix "
        "programs on PATH, windows_aliases those that call `ls`, `sort`, `cat` … again with the aliases of Windows.",
    )
    control: bool = Field(
        False, description="Run each task's first reference and first wrong command too; the report shows them apart."
    )
    order_seed: Seed = Field(20260430, description="Seed of the order in which cells are asked.")
    models: Annotated[list[ModelConfig], Field(min_length=1)] = Field(description="The models, never pooled.")
    sandbox: SandboxConfig = Field(default_factory=SandboxConfig, description="Where commands run.")
    budget: Budget = Field(default_factory=Budget, description="What it may cost.")
    confirm: Literal["ask", "yes"] = Field("ask", description="yes: run a study above confirm_usd without asking.")
    show_private: bool = Field(False, description="Show private tasks in full like others; else by id and hash.")
    preregistration: str | None = Field(None, description="Path of the registration file this study follows.")

    @model_validator(mode="before")
    @classmethod
    def _sealed(cls, values: Any) -> Any:
        if isinstance(values, dict) and isinstance(values.get("seeds"), str):
            return values | {"seeds": [], "seeds_sealed": values["seeds"]}
        return values

    @model_validator(mode="after")
    def _consistent(self) -> Study:
        aliases = [model.alias for model in self.models]
        for name in ("models", "shells", "seeds", "tasks"):
            values = aliases if name == "models" else getattr(self, name)
            if not isinstance(values, str) and len(set(values)) < len(values):
                raise ValueError(f"{name}: every entry must be different, got {list(values)}")
        if self.seeds_sealed and (self.seeds or self.seeds_salt):
            raise ValueError("seeds: either the commitment, or the seeds and the salt that open it")
        if not self.seeds_sealed and len({seed % 2 for seed in self.seeds}) < 2:
            raise ValueError("seeds: take at least one odd and one even seed, the worlds of a pair differ in kind")
        if AS_DESIGNED.name not in self.conditions:
            raise ValueError("conditions: as_designed is the headline and cannot be left out")
        return self

    def model(self, alias: str) -> ModelConfig:
        """The entry of one model; UserError if the study has none of that name."""
        for model in self.models:
            if model.alias == alias:
                return model
        known = ", ".join(model.alias for model in self.models)
        raise UserError("the study has no such model", where=alias, hint=f"its models are: {known}")

    def cells(self, task_ids: Sequence[str]) -> Iterator[Cell]:
        """Every cell of the design, model by model."""
        for model in self.models:
            for shell in self.shells:
                for task in task_ids:
                    for trial in range(1, self.trials + 1):
                        yield Cell(model.alias, shell, task, trial)


def load_study(*overrides: Path) -> Study:
    """The study of `config.yaml` with each override file laid over it."""
    files = [CONFIG, *map(Path, overrides)]
    values: dict[str, Any] = {}
    for file in files:
        values = merge(values, read_yaml(file))
    return validate_study(values, files)


def validate_study(values: dict[str, Any], files: Sequence[Path] = (CONFIG,)) -> Study:
    """A study from merged values; UserError names the file and the key that is wrong."""
    try:
        return Study.model_validate(values)
    except ValidationError as error:
        raise explain(error, files) from None
