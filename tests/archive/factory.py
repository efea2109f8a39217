"""Small complete studies in a results folder, made by the pipeline's own stages.

Only two things are made up: the models' replies, and what the sandbox would have said of them.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar
from unittest.mock import patch

from fluency import registration
from fluency.archive import pack
from fluency.common.files import pretty_json, write_atomic
from fluency.common.paths import CONFIG
from fluency.core.code_hashes import code_sha256
from fluency.core.loaded_study import LoadedStudy
from fluency.core.provenance import (
    Provenance,
    ProvenanceCollector,
    of_checkout,
    read_startup_times,
)
from fluency.core.records import (
    Answer,
    Execution,
    Generation,
    ImageInfo,
    ProcessFact,
    Request,
    Result,
    Stream,
    Used,
    read_control,
)
from fluency.core.schema import write_record
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.study import Cell, Study
from fluency.core.study_view import StudyView
from fluency.core.table import (
    RECORD_TYPES,
    image_path,
    load_records,
    read_table,
    record_path,
    write_table,
)
from fluency.core.task_world import planned_processes, world_for
from fluency.core.tasks import Task, load_tasks
from fluency.execution.execute import execute_cell, why_ended
from fluency.execution.image_content import content_sha256, shells_in
from fluency.execution.protocol import Invocation
from fluency.generation.conversation import request_after, shown_of
from fluency.generation.generator import Generator, not_asked
from fluency.generation.providers import answer_to as provided
from fluency.generation.request import requests_of
from fluency.generation.store import AnswerStore
from fluency.registration import with_registration
from fluency.report.report import write_products
from fluency.scoring.score_cell import score_cell
from fluency.validation.control import run_control
from fluency.world import World
from tests import synthetic_tables
from tests.generation.endpoint import completion

TASKS = ("fetch-top-crates", "session-tool-failures", "stale-lockfiles", "tree-size-bytes")
ASKED = lambda cell: "2026-11-22T01:02:03.456Z"  # noqa: E731
FACTS = {
    "commit": "0123456789abcdef0123456789abcdef01234567",
    "dirty": False,
    "utc_date": "2026-11-22",
}


@dataclass
class Made:
    """A study in `root`: results/, answers/, and what was it made from."""

    root: Path
    study: Study
    tasks: list[Task]
    files: ClassVar = [CONFIG]
    command = LoadedStudy.command

    @property
    def results(self) -> Path:
        return self.root / "results"

    @property
    def answers(self) -> Path:
        return self.root / "answers"

    def view(self, provenance: Provenance | None = None) -> StudyView:
        return StudyView(
            self.study,
            self.tasks,
            self.cells,
            partial(load_records, self.results),
            provenance=provenance or Provenance(),
            control=read_control(self.results / self.study.study) if self.study.control else None,
        )

    @property
    def cells(self) -> list[Cell]:
        return list(self.study.cells([task.id for task in self.tasks]))


MODEL = {"alias": "qwen-0.5b", "id": "qwen2.5-coder-0.5b-instruct", "served_by": "embedded"}


def make_study(tasks=TASKS, trials=2, models=1, model=MODEL, **more) -> Study:
    """Of this model, and of further ones like it."""
    others = [model | dict.fromkeys(("alias", "id"), f"model-{n}") for n in range(2, models + 1)]
    wanted = tasks if isinstance(tasks, str) else [*tasks]
    return synthetic_tables.make_study([model, *others], trials, tasks=wanted, **more)


class Executor:
    """In place of the sandbox: a reference prints the right answer, anything else a wrong one."""

    engine: ClassVar[dict] = {"name": "made up", "version": "0"}
    parallel = 1

    def __init__(self, tasks: Sequence[Task], shells=DESIGN_SHELLS) -> None:
        self._tasks = {
            command: task
            for task in tasks
            for group in task.references.values()
            for command in group
        }
        versions = dict.fromkeys(shells, "1") | synthetic_tables.IMAGE.shells
        self.images = {
            shell: ImageInfo(
                image_id="sha256:" + "1f" * 32,
                content_sha256=content_sha256(shells_in(shell)),
                base="debian",
                architecture="amd64",
                shells={
                    name: versions[name] if name in shells else None for name in shells_in(shell)
                },
                packages_sha256="3d" * 32,
            )
            for shell in versions
        }

    def change_images(self, shells=None, **facts) -> None:
        """Give each image other facts, and its shells other versions."""
        for name, image in self.images.items():
            held = {shell: (shells or image.shells)[shell] for shell in image.shells}
            self.images[name] = image.model_copy(update={**facts, "shells": held})

    def why_missing(self, shell) -> str | None:
        if self.images[shell].shells[shell]:
            return None
        return f"the sandbox image holds no {SHELLS[shell].title}: made up without one"

    def run(self, invocation: Invocation) -> Result:
        world = invocation.world
        task = self._tasks.get(invocation.command)
        facts = planned_processes(world) if "processes" in invocation.needs else []
        if task is None or invocation.condition == "no_unix_tools":
            return result_of(b"", b"sh: 1: not found\n", 127, processes=facts)
        expected = task.expected(world, facts)
        is_text = isinstance(expected, list) and isinstance(expected[0], str)
        lines = expected if is_text else [json.dumps(expected)]
        return result_of("".join(f"{line}\n" for line in lines).encode(), processes=facts)


def result_of(out, error=b"", exit_code=0, processes: Sequence[ProcessFact] = ()) -> Result:
    return Result(
        exit_code=exit_code,
        stdout=Stream.of(out),
        stderr=Stream.of(error),
        wall_s=0.25,
        used=Used(cpu_s=0.125, peak_memory_bytes=1 << 22),
        processes=list(processes),
    )


def reply_of(task: Task, cell: Cell) -> str:
    """Trial 1 is right, the others are wrong."""
    return (task.references if cell.trial == 1 else task.wrong)[cell.shell][0]


def answer_to(request: Request, text, received_utc, end="end_turn") -> Answer:
    """What the store would hold of a model that said this."""
    message = {
        "type": "message",
        "model": request.model_id,
        "stop_reason": end,
        "usage": {"input_tokens": 120, "output_tokens": 30},
        "content": [{"type": "text", "text": text}],
    }
    is_messages = request.wire == "messages"
    return provided(
        request,
        message if is_messages else completion(message),
        latency_s=1.5,
        received_utc=received_utc,
        server="api.anthropic.com" if is_messages else "embedded",
        client="none",
    )


def make(root, study: Study | None = None, **options) -> Made:
    """A complete study below `root`; options as for `measure`."""
    made = measure(root, study, **options)
    products(made)
    return made


def preregister_at(utc, *design) -> Path:
    """Register a design as if it were this time, in a checkout that git does not know."""
    moment = {"utc_now": lambda: utc, "git_state": lambda: (None, None)}
    with patch.multiple(registration, **moment):
        return registration.preregister(*design)


def make_registered(root, study: Study, **options) -> Made:
    """A complete study that was registered before its first answer."""
    folder, tasks = root / "preregistrations", load_tasks(study.tasks)
    path = preregister_at("2026-11-01T00:00:00Z", study, tasks, study.decision, folder)
    return make(root, study.model_copy(update={"preregistration": str(path)}), **options)


def measure(
    root,
    study: Study | None = None,
    *,
    shells=DESIGN_SHELLS,
    reply=reply_of,
    sandbox=None,
    worlds: Callable[[Task, int], World] = world_for,
    asked: Callable[[Cell], str] = ASKED,
) -> Made:
    """The records of a study below `root`, without products; the image holds `shells`."""
    study = study or make_study()
    made = Made(root, study, load_tasks(study.tasks))
    executor, store = sandbox or Executor(made.tasks, shells), AnswerStore(made.answers)
    generator = Generator(study, store=store)
    tasks, before = {task.id: task for task in made.tasks}, None
    for cell, request in requests_of(study, made.tasks, worlds).items():
        task = tasks[cell.task]
        if cell.turn == 1:
            before = None
        if before and (why := why_ended(*before)):
            generation = not_asked(before[0], cell, why)
        else:
            if before:
                shown = shown_of(before[1])
                request = request_after(before[0].answer, request, shown, cell.shell)
            store.put(answer_to(request, reply(task, cell), asked(cell)))
            generation = generator.generate(cell, request, task.sha256)
        # Timed to the second, and run in the second in which the answer came.
        utc = f"{generation.answer.received_utc[:19]}Z"
        earlier = before and before[1]
        execution = execute_cell(study, task, generation, executor, worlds, utc, before=earlier)
        put_cell(made, task, generation, execution, worlds)
        before = generation, execution
    generator.close()
    for shell in study.shells:
        image = {"image": executor.images[shell].model_dump(), "engine": executor.engine}
        write_atomic(image_path(made.results, shell), pretty_json(image | {"start_up_s": {}}))
    if study.control:
        control = run_control(study, made.tasks, executor)
        write_record(made.results / study.study / "control.json", control)
    return made


def put_cell(
    made: Made, task: Task, generation: Generation, execution: Execution, worlds=world_for
) -> None:
    """Score a cell as the pipeline does, and write its three records."""
    score = score_cell(made.study, task, generation, execution, worlds, code_sha256("score"))
    for stage, record in zip(RECORD_TYPES, (generation, execution, score), strict=True):
        write_record(record_path(made.results, stage, generation.cell), record)


def gather(made: Made) -> Provenance:
    """Table and provenance from the records, as if at the archive's commit."""
    folder, view = made.results / made.study.study, made.view()
    write_table(folder / "cells.csv", view.rows())
    collector = ProvenanceCollector(made.study)
    for cell in made.cells:
        collector.add(view.records(cell))
    checkout = of_checkout([CONFIG]) | {key: FACTS[key] for key in ("commit", "dirty")}
    start_up_s = read_startup_times(made.results, made.study.shells)
    collected = collector.provenance(made.tasks, start_up_s, **checkout)
    provenance = with_registration(collected, made.study, made.tasks)
    write_record(folder / "provenance.json", provenance)
    return provenance


def products(made: Made) -> None:
    """Table, provenance, report and explorer from the records, as the rules make them."""
    folder = made.results / made.study.study
    provenance = gather(made)
    write_products(made.view(provenance), read_table(folder / "cells.csv"), folder)


def deviations(study: Study, tasks: Sequence[Task], path, first_answer=None) -> list[str]:
    """How a study differs from the registration in a file."""
    cited = study.model_copy(update={"preregistration": str(path)})
    return with_registration(Provenance(first_answer_utc=first_answer), cited, tasks).deviations


def archived(made: Made, out, **more) -> Path:
    """The study's archive; `more` are other facts, or options of `pack_study`."""
    facts = FACTS | {key: more.pop(key) for key in FACTS if key in more}
    stated = {
        "git_state": lambda: (facts["commit"], facts["dirty"]),
        "utc_date": lambda: facts["utc_date"],
    }
    with patch.multiple(pack, RESULTS=made.results, **stated):
        return pack.pack_study(made, Path(out), **more)
