"""Before money is spent: the models can be asked, and a user agreed to the price."""

import os
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

from fluency.common.errors import UserError
from fluency.common.files import read_json
from fluency.common.paths import ANSWERS, CACHE, RESULTS, ROOT
from fluency.common.words import plural
from fluency.core.config_files import file_defining
from fluency.core.loaded_study import LoadedStudy
from fluency.core.shells import SHELLS, Shell
from fluency.core.table import image_path
from fluency.core.task_world import expected_in
from fluency.core.tasks import Task
from fluency.execution.archives import NONE, install_hint, source_of
from fluency.execution.execute import ends_conversation
from fluency.generation.api_keys import keys_of, variables_of
from fluency.generation.cost_estimate import CostEstimate, ModelEstimate, Share, estimate_cost
from fluency.generation.local_model.weights import find_weights
from fluency.generation.policies import resolve
from fluency.generation.providers import PROVIDERS
from fluency.generation.store import AnswerStore
from fluency.registration import read_registration


def check_models(loaded: LoadedStudy) -> None:
    """UserError for a model that cannot be asked as configured, or a missing registration."""
    try:
        for model in loaded.study.models:
            resolve(model)
            if model.is_embedded:
                find_weights(model.id)
            else:
                where = f"models: {model.alias}: base_url"
                PROVIDERS[model.wire].address(model, model.base_url, where)
    except UserError as error:
        error.where = f"{file_defining('models', loaded.files)}: {error.where}"
        raise
    if loaded.study.preregistration:
        read_registration(ROOT / loaded.study.preregistration)


def unwritable() -> list[Path]:
    """The folders that a run writes into and may not."""
    folders = (ROOT, CACHE, RESULTS, ANSWERS, ROOT / "logs", ROOT / ".snakemake")
    return [folder for folder in folders if folder.exists() and not os.access(folder, os.W_OK)]


def check_writable() -> None:
    """UserError if the project cannot be written to, which Snakemake would show as a traceback."""
    for folder in unwritable():
        hint = "use a copy that you may write to, or change its owner: `chown -R`"
        raise UserError("this folder cannot be written to", where=str(folder), hint=hint)


def estimate_of(loaded: LoadedStudy) -> CostEstimate:
    """What a run would ask and cost, by the answers of this folder."""
    return estimate_cost(loaded.study, loaded.tasks, AnswerStore(ANSWERS), ends_conversation)


def missing_keys(estimate: CostEstimate) -> list[str]:
    """A sentence for each key that a run needs and the environment lacks."""
    return [
        f"the key of {model.alias}: export {name}=…"
        for model in (one.config for one in estimate.models if one.calls)
        for name in variables_of(model).values()
        if not os.environ.get(name, "").strip()
    ]


def missing_shells(loaded: LoadedStudy) -> list[str]:
    """A sentence for each shell that its image lacks, or will lack."""
    return [
        f"{SHELLS[name].short_title} in its sandbox image, so it is not measured: "
        + install_hint(name)
        for name in loaded.study.shells
        if _is_missing(SHELLS[name])
    ]


def _is_missing(shell: Shell) -> bool:
    """By the record of its image; before there is one, whether its archive can be had."""
    if (record := image_path(RESULTS, shell.name)).exists():
        return not read_json(record)["image"]["shells"][shell.name]
    return shell.install.archive is not None and source_of(shell.name) == NONE


def check_before_run(loaded: LoadedStudy, estimate: CostEstimate) -> None:
    """UserError unless the keys of the models that will be asked are there, and the answers."""
    for one in estimate.models:
        if one.calls:
            keys_of(one.config, os.environ)
    if estimate.calls:
        check_answers(loaded.tasks, loaded.study.seeds)


def check_answers(tasks: Sequence[Task], seeds: Sequence[int]) -> None:
    """Compute each task's right answer in every world; UserError names an answer.py that raises."""
    for task, seed in product(tasks, seeds):
        expected_in(task, seed)


def confirm_price(estimate: CostEstimate, ask: Callable[[str], str] | None = None) -> bool:
    """Whether a run's price is agreed to.

    It is up to budget.confirm_usd (of the upper bound), by `confirm: yes`, or by a yes.

    Args:
        ask: asks a user; None without a terminal.

    Raises:
        UserError: if no user can be asked.
    """
    budget = estimate.study.budget
    if estimate.most_usd <= budget.confirm_usd or estimate.study.confirm == "yes":
        return True
    price = f"This run makes {plural(estimate.calls, 'call')}: {dollars(estimate)}."
    if ask is None:
        raise UserError(
            f"{price} It is not confirmed",
            where="budget: confirm_usd",
            hint='run it on a terminal and answer yes, or write `confirm: "yes"` into the study\'s '
            "file",
        )
    answer = ask(f"{price} It stops at ${budget.stop_usd:g}. Go on? [yes/no] ")
    return answer.strip().lower() in ("y", "yes")


def dollars(cost: CostEstimate | ModelEstimate | Share) -> str:
    """What calls cost, in words."""
    if not cost.most_usd:
        return "nothing"
    return f"about ${cost.expected_usd:.2f}, at most ${cost.most_usd:.2f}"
