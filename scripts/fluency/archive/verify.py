"""All checks of an archive, in order, and the commands that print and open what was verified."""

import html
import os
import re
import shutil
import sys
import webbrowser
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from fluency.analysis.study_analysis import analyse
from fluency.archive.archived_study import (
    ArchivedStudy,
    read_archived_study,
    write_opened,
)
from fluency.archive.manifest import MANIFEST_NAME, SUFFIX, ArchiveFinding, Manifest
from fluency.archive.pack import (
    PROJECT_FILES,
    README_FILE,
    SANDBOX_FILES,
    WORLD_INDEX,
    entry_file,
    missing_cells,
    pack_study,
    world_folder,
)
from fluency.archive.playback import Kind, are_possible, differences, is_result_possible
from fluency.archive.stated_commit import StatedCommit
from fluency.archive.unpack import UnpackedArchive, unpacked
from fluency.common.canonical import canonical_json
from fluency.common.clock import is_time, parse_time
from fluency.common.errors import ArchiveError, UserError
from fluency.common.files import write_atomic
from fluency.common.git import commit_utc, git_state
from fluency.common.paths import ARCHIVES, CACHE, RESULTS
from fluency.common.terminal import log_line, print_lines
from fluency.core.loaded_study import LoadedStudy
from fluency.core.provenance import Provenance, ProvenanceCollector
from fluency.core.records import Execution, Generation
from fluency.core.shells import VARIABLE as PRIVATE_SHELLS
from fluency.core.study_view import StudyView
from fluency.core.table import Row, cell_record, image_record, to_frame
from fluency.core.task_world import world_for
from fluency.core.tasks import PRIVATE_TASKS_VARIABLE, Task
from fluency.execution.archives import archive_origin
from fluency.execution.execute import MAX_ATTEMPTS
from fluency.report.compare import StudyTable, compare, open_study_table
from fluency.report.page import html_page
from fluency.report.sentences import (
    headline_of,
    set_around,
    study_sentences,
    telling_first,
    unexpected_controls,
)
from fluency.report.templates import render

Weight = Literal["ALTERED", "NOT CHECKED"]
COMPARISON = RESULTS / "comparison.html"
EXIT_CODES = {"ALTERED": 1, "NOT CHECKED": 3, "PROVEN": 0}
"""The worst first. 2 is a user's mistake, such as a file that is not an archive."""
MOST = 20
"""Of the lines of a kind that are printed."""


@dataclass
class VerifyReport:
    """What a verification found, each finding once.

    Attributes:
        sha256: the archive file's, to be compared with the decision record.
        found: ALTERED: the archive contradicts itself, or what its own code gives; NOT CHECKED:
            this checkout recomputes something else, and is not that code.
        rows: the recomputed table.
        provenance: recomputed, with the registration.
        kept: the table in which runs whose result was lost are missing.
        reworded, older: records whose wording differs at a later commit, and those that state
            another version of code or task.
    """

    path: Path
    sha256: str
    manifest: Manifest
    source: StatedCommit
    found: dict[str, dict[ArchiveFinding, None]] = field(default_factory=lambda: defaultdict(dict))
    rows: list[Row] = field(default_factory=list)
    kept: list[Row] = field(default_factory=list)
    provenance: Provenance = field(default_factory=Provenance)
    reworded: set[str] = field(default_factory=set)
    older: set[str] = field(default_factory=set)

    @property
    def altered(self) -> list[ArchiveFinding]:
        return list(self.found["ALTERED"])

    @property
    def missing(self) -> list[str]:
        return missing_cells(self.rows)

    @property
    def weight(self) -> Weight:
        """What a difference from this checkout means."""
        return "ALTERED" if self.source.same_code else "NOT CHECKED"

    def check(self, where: str, holds: object, what: str, weight: Weight = "ALTERED") -> bool:
        """Check the archive against itself; if it fails, the archive is ALTERED."""
        if not holds:
            self.found[weight].setdefault(ArchiveFinding(where, what))
        return bool(holds)

    def compare(self, where: str, holds: object, what: str) -> bool:
        """Check against this checkout; the stated commit decides what a failure means."""
        return self.check(where, holds, what, self.weight)

    def differ(self, where: str, kind: Kind, what: str) -> None:
        """Take in a difference between a record and what its playback gives."""
        if kind == "code":
            self.older.add(where)
        elif kind == "worded" and self.source.tree and not self.source.same_code:
            self.reworded.add(where)
        else:
            self.check(where, False, what, "ALTERED" if kind == "equal" else self.weight)

    @contextmanager
    def collecting_errors(self, where: str = "") -> Iterator[None]:
        """Note what the block refuses, as a contradiction in the file that it names."""
        try:
            yield
        except ArchiveError as error:
            self.check(error.where or where, False, error.what)

    def verdict(self) -> str:
        """The verdict on the archive."""
        return next((verdict for verdict in EXIT_CODES if self.found[verdict]), "PROVEN")

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict()]

    @property
    def heading(self) -> str:
        """What pages of the archive say first."""
        said = "NOT CHECKED: these numbers are what this checkout recomputes."
        return said if self.exit_code else ""

    def lines(self) -> list[str]:
        """The report for a terminal, with at most MOST findings of each weight."""
        unmeasured = {
            f"{row.model}/{row.shell}: {row.reason}"
            for row in self.rows
            if row.status == "not_measured"
        }
        return render(
            "verify.lines.j2", {"report": self, "unmeasured": unmeasured, "most": MOST}
        ).splitlines()


def verify(archive: Path, record: Path | None = None) -> int:
    """Verify an archive and print what was found; 0: PROVEN, 1: ALTERED, 3: NOT CHECKED.

    Args:
        record: the decision record that must name this very file.
    """
    named = _named_archive(record) if record else ""
    with unpacked(archive) as files:
        report, archived = verify_unpacked(files)
        if record:
            what = f"it is not the archive that {record} is based on"
            report.check(archive.name, report.sha256 == named, what)
        print_lines([*report.lines(), *screen(report, archived)])
    return report.exit_code


def screen(report: VerifyReport, archived: ArchivedStudy | None) -> list[str]:
    """The study as recomputed, unless it is altered; and what no verification shows."""
    values: dict[str, Any] = {"view": None, "clean": git_state()[1] is False, "most": MOST}
    if archived and not report.altered:
        view = archived.view(report.provenance)
        whole, kept = (
            analyse(to_frame(rows), view.study, view.tasks) for rows in (report.rows, report.kept)
        )
        name, left_out = set_around(view.tasks)
        values |= {
            "view": view,
            "headlines": [*map(headline_of, telling_first(whole.contrasts))],
            "kept": kept,
            "facts": " ".join(study_sentences(whole, view)),
            "set": name,
            "left_out": sorted(left_out),
            "said": [*view.provenance.deviations, *unexpected_controls(view.control)],
        }
    return render("screen.lines.j2", values).splitlines()


def _named_archive(record: Path) -> str:
    """The SHA-256 of the archive that a decision record is based on."""
    text = record.read_text(encoding="utf-8", errors="replace")
    shown = re.sub(r"<!--.*?(-->|\Z)", "", text, flags=re.DOTALL)
    found = re.findall(r"^- SHA-256 of the archive: `([0-9a-f]{64})`$", shown, re.MULTILINE)
    if len(found) != 1:
        what = f"it names {len(found)} archives' SHA-256, and a decision is based on one"
        raise UserError(what, where=str(record), hint="name a record that `make decision` wrote")
    return str(found[0])


def open_archive(archive: Path, into: Path | None = None, *, verbose: bool = False) -> int:
    """Verify an archive, make its report and explorer again, and open them on a screen.

    Of an altered archive nothing is written. The exit code is the verification's.
    """
    with unpacked(archive) as files:
        report, archived = verify_unpacked(files)
        whole = verbose or report.exit_code
        print_lines([*report.lines(), *screen(report, archived)] if whole else [report.verdict()])
        if archived is None or report.altered:
            return report.exit_code
        folder = into or ARCHIVES / "opened" / archive.name.removesuffix(SUFFIX)
        decides, *written = write_opened(archived.view(report.provenance, report.heading), folder)
    print(decides, "Report:   {}\nExplorer: {}".format(*written), sep="\n")
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        for path in written:
            webbrowser.open(path.resolve().as_uri())
    return report.exit_code


def compare_studies(a: str, b: str) -> int:
    """Print the comparison of two studies, each of which may be an archive, and write its page."""
    with ExitStack() as archives:
        first, second = (_study_table(name, archives) for name in (a, b))
        markdown = compare(first, second).markdown()
    print(html.unescape(markdown) if sys.stdout.isatty() else markdown, end="")
    with suppress(OSError):  # where nothing can be written it is still printed
        write_atomic(COMPARISON, html_page(markdown, {}))
        log_line(f"As a page: {COMPARISON}")
    return 0


def make_verified_archive(loaded: LoadedStudy, partial: bool, image: bool) -> None:
    """Pack a study and print the archive's path; UserError if it would not be PROVEN."""
    CACHE.mkdir(exist_ok=True)
    # Only a PROVEN one takes the place of an earlier one of its name.
    with TemporaryDirectory(dir=CACHE) as folder:
        packed = pack_study(loaded, Path(folder), partial=partial, image=image)
        report = verify_archive(packed)
        if report.exit_code:
            first = next(iter(report.found[report.verdict()]))
            what = f"the results do not fit this checkout, the archive would be {report.verdict()}"
            raise UserError(
                f"{what}: {first}",
                where="archive",
                hint=f"`{loaded.command('run')}` measures again what has changed, or check out "
                "the commit of the results",
            )
        ARCHIVES.mkdir(exist_ok=True)
        path = shutil.move(packed, ARCHIVES / packed.name)
    print(f"{report.verdict()}\n{path}")


def _study_table(name: str, archives: ExitStack) -> StudyTable:
    """A study by its name or path; of an archive, as this checkout recomputes it."""
    path = Path(name)
    if not (name.endswith(SUFFIX) and path.is_file()):
        return open_study_table(name)
    view, report = verified_view(archives.enter_context(unpacked(path)))
    log_line(f"{path.name}: {report.verdict()}")
    return StudyTable(path.name.removesuffix(SUFFIX), to_frame(view.rows()), view.provenance)


def verify_archive(path: Path) -> VerifyReport:
    """Check an archive file; ArchiveError where it is refused altogether (see unpack.py)."""
    with unpacked(path) as archive:
        return verify_unpacked(archive)[0]


def verify_unpacked(archive: UnpackedArchive) -> tuple[VerifyReport, ArchivedStudy | None]:
    """Recompute an archive and compare. Returns the study too; None if it cannot be read.

    Starts no process but git, and opens no socket.
    """
    report = VerifyReport(archive.path, archive.sha256, archive.manifest, archive.source)
    for finding in archive.problems:
        report.check(finding.where, False, finding.what)
    archived = None
    with report.collecting_errors():
        archived = read_archived_study(archive)
        for check in (
            *(check_day, check_sources, check_shells, check_tasks),
            *(check_worlds, check_cells, check_control),
        ):
            check(archived, report)
        for name in sorted(archive.unread - {README_FILE}):
            report.check(name, False, "nothing in the study names it")
    return report, archived


def verified_view(archive: UnpackedArchive) -> tuple[StudyView, VerifyReport]:
    """The study as this checkout recomputes it; ArchiveError if the archive is altered."""
    report, archived = verify_unpacked(archive)
    if archived is None or report.altered:
        raise ArchiveError(
            f"it is altered or damaged: {report.altered[0]}",
            where=str(archive.path),
            hint="`make verify ARCHIVE=…` lists everything that does not hold",
        )
    return archived.view(report.provenance, report.heading), report


def check_day(_: ArchivedStudy, report: VerifyReport) -> None:
    """The archive's day is not in the future, and is not before its commit's."""
    day, commit = report.manifest.utc_date, report.source
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    report.check(MANIFEST_NAME, parse_time(day) <= tomorrow, f"its day, {day}, has not come yet")
    known = commit_utc(commit.name)[:10] if commit.tree else ""
    report.check(MANIFEST_NAME, known <= day, "its day is before its commit's")


def check_sources(archived: ArchivedStudy, report: VerifyReport) -> None:
    """Sandbox, lock and policies are this checkout's or the commit's; they gave the image."""
    files = archived.unpacked
    for name, path in {SANDBOX_FILES: SANDBOX_FILES, **PROJECT_FILES}.items():
        held = {each.replace(name, path): blob for each, blob in files.blobs(name).items()}
        what = "neither this checkout nor the stated commit, as far as it is known here, has it so"
        report.compare(path, report.source.has(path, held), what)
    for shell, file in archived.images.items():
        image, where = file.image, f"results/{image_record(shell)}"
        built = archived.sandbox_sha256(image.shells) == image.content_sha256
        report.compare(where, built, "it was not built from the archived sandbox")
        taken, unofficial = dict[str, str](), list[str]()
        for name, source in image.archives.items():
            found = archive_origin(name, source, image.architecture)
            taken, unofficial = taken | found[0], unofficial + found[1]
        said = (taken, unofficial) == (image.archives, image.unofficial)
        report.compare(where, said, "what is official in it is not what its archives say")


def check_shells(archived: ArchivedStudy, report: VerifyReport) -> None:
    """Each shell's entry is this checkout's."""
    source = report.source
    for shell in sorted(archived.foreign):
        what = (
            "this checkout has another entry or none, so its cells were not judged; "
            f"{PRIVATE_SHELLS} names the folder of private ones"
        )
        report.check(where := entry_file(shell), False, what, "NOT CHECKED")
        is_private = where not in {*source.here, *source.tree}
        known = is_private or source.has(where, archived.unpacked.blobs(where))
        report.compare(where, known, "neither this checkout nor the stated commit has it so")


def check_tasks(archived: ArchivedStudy, report: VerifyReport) -> None:
    """Each task is this checkout's."""
    for task in archived.tasks:
        where, ours = f"tasks/{task.id}", archived.ours.get(task.id)
        is_private = task.id in report.manifest.private_tasks
        if ours is None:
            what = "this checkout has no such task, so its cells were not judged"
            if is_private:
                what += f"; {PRIVATE_TASKS_VARIABLE} names the folder of private tasks"
            report.check(where, False, what, "NOT CHECKED" if is_private else report.weight)
            continue
        what = f"whether {task.id} is private is not as stated"
        report.compare(MANIFEST_NAME, is_private == ours.private, what)
        if ours is not task:
            blobs = archived.unpacked.blobs(f"{where}/")
            known = report.source.has(f"{where}/", blobs) or ours.private
            report.compare(where, known, "neither this checkout nor the commit has it so")
        shells = archived.study.shells
        same = task.id in archived.judged_here and _asked(task, shells) == _asked(ours, shells)
        what = "this checkout's prompt, check or commands differ"
        report.check(where, same, what, "NOT CHECKED")


def check_worlds(archived: ArchivedStudy, report: VerifyReport) -> None:
    """The index names each task's worlds, which are what the generator makes."""
    folders = dict[str, dict[str, str]]()
    for task in archived.tasks:
        for seed in archived.study.seeds:
            world = archived.world(task, seed)
            if world.seed == seed:
                folders.setdefault(task.id, {})[str(seed)] = world_folder(world)
            if task.id in archived.judged_here:
                same = world_for(task, seed).sha256 == world.sha256
                what = f"the generator makes another world of seed {seed}"
                report.compare(f"tasks/{task.id}", same, what)
    same = archived.index == folders
    report.check(WORLD_INDEX, same, "it does not name one world of each task and seed")


def _asked(task: Task, shells: Collection[str]) -> dict[str, Any]:
    """What a task asks in these shells and how it is judged, without its author's words on it."""
    words = {"version", "provenance", "provenance_note", "fixture", "fairness", "difficulty"}
    asked = task.model_dump(exclude=words)
    commands = {key: asked[key] for key in ("references", "wrong")}
    return asked | {
        key: {shell: each for shell, each in of.items() if shell in shells}
        for key, of in commands.items()
    }


def check_cells(archived: ArchivedStudy, report: VerifyReport) -> None:
    """Play each cell, compare, and check what can only be stated; keeps the recomputed rows."""
    collector = ProvenanceCollector(archived.study)
    seen: dict[tuple[str, str], str] = {}
    for cell in archived.cells:
        with report.collecting_errors(cell.path):
            records = archived.records(cell)
            held = [record is not None for record in records]
            what = "it has a record without the one that this is made from"
            report.check(cell.path, held == sorted(held, reverse=True), what)
            made = archived.played(cell, records, report.differ)
            report.rows.append(row := archived.row(cell, made))
            results = made.execution.runs if made.execution else []
            lost = any(run.result.lost is not None for run in results)
            missing = {"status": "missing", "passed": None}
            report.kept.append(row.model_copy(update=missing) if lost else row)
            collector.add(made)
            if records.generation and not records.generation.ended:
                check_answer(archived, report, records.generation, seen)
            if records.generation and records.execution and not records.execution.repeats:
                check_execution(archived, report, records.generation, records.execution)
    report.provenance = archived.provenance(collector)
    if registration := report.provenance.registration:
        for what in registration.refuted:
            report.check(registration.path, False, what)


def check_answer(
    archived: ArchivedStudy,
    report: VerifyReport,
    generation: Generation,
    seen: dict[tuple[str, str], str],
) -> None:
    """What is stated of an answer is possible, and no reply was sent twice.

    Args:
        seen: model with the id and the prompt, or the whole, of each reply -> its request's key.
    """
    answer, cell = generation.answer, generation.cell
    where, model = f"results/{cell_record('generations', cell)}", archived.study.model(cell.model)
    numbers = (answer.latency_s, generation.cost_usd, answer.attempts - 1)
    plausible = are_possible(*numbers, *dict(answer.usage).values())
    report.check(where, plausible, "a time, count or cost is negative or infinite")
    timely = _time(answer.received_utc) < _end_of_day(report)
    report.check(where, timely, "it came after the archive's day, or at no time")
    served = (answer.server == "embedded") == model.is_embedded
    report.check(where, served, "its server is not the study's")
    if (name := answer.raw.get("id")) and not model.is_embedded:
        for mark in (f"{name} {answer.request.text}", canonical_json(answer.raw)):
            same = seen.setdefault((model.id, mark), answer.request_key) == answer.request_key
            report.compare(where, same, f"the message {name} answers another request, too")


def check_execution(
    archived: ArchivedStudy, report: VerifyReport, generation: Generation, execution: Execution
) -> None:
    """What is stated of an execution is possible, and agrees with the limits."""
    where = f"results/{cell_record('executions', execution.cell)}"
    limits = archived.study.sandbox.limits
    ran, answered = _time(execution.provenance.get("utc")), _time(generation.answer.received_utc)
    timely = answered - timedelta(days=1) <= ran < _end_of_day(report)
    what = "it ran more than a day before its answer, after the archive's day, or never"
    report.check(where, timely, what)
    least = MAX_ATTEMPTS if execution.unmeasured else bool(execution.runs)
    possible = least <= execution.attempts <= MAX_ATTEMPTS and all(
        is_result_possible(run.result, execution.timeout_s, limits) for run in execution.runs
    )
    report.check(where, possible, "a time, count, size or ending contradicts itself or the limits")


def _time(stated: object) -> datetime:
    """The time that a record states; one that no check accepts, if it states none."""
    return parse_time(str(stated)) if is_time(stated) else datetime.max.replace(tzinfo=UTC)


def _end_of_day(report: VerifyReport) -> datetime:
    return parse_time(report.manifest.utc_date) + timedelta(days=1)


def check_control(archived: ArchivedStudy, report: VerifyReport) -> None:
    """It ran the tasks' commands in each shell of the image, and is judged like a cell."""
    study, stored, where = archived.study, archived.control, archived.control_name
    if stored is None:
        may_lack = report.missing or not study.control
        report.check(where, may_lack, "the archive does not hold it")
        return
    held, shells = {*archived.held_shells()}, {run.shell for run in stored.runs}
    same = shells == held and {*stored.not_measured} == {*study.shells} - held
    report.check(where, same, "its shells are not the images'")
    limits, seeds = study.sandbox.limits, set(map(str, study.seeds))
    for run in stored.runs:
        possible = run.results.keys() == seeds and all(
            not result.lost and is_result_possible(result, limits.deadline_s(run.shell), limits)
            for result in run.results.values()
        )
        what = f"{run.task}, {run.shell}: its results contradict the study"
        if not report.check(where, possible, what):
            return
    made = archived.played_control(stored)
    runs = [run for run in stored.runs if archived.is_judged(run.task, run.shell)]
    ran = [(run.task, run.shell, run.kind, run.command) for run in runs]
    plan = [(task.id, *rest) for task, *rest in archived.control_plan()]
    report.compare(where, ran == plan, "its runs are not the tasks' first commands")
    for kind, _, what in differences(made, stored.model_copy(update={"runs": runs})):
        report.differ(where, kind, what)
