"""Sentences of the report's appendix, the full headline of a model, and the provenance as lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from fluency.analysis.decision_table import DIRECTION_PP, MISSING_PROGRAM_GAP, NOISE_PP, Edge
from fluency.analysis.descriptive import AskingOrder
from fluency.analysis.gap import TableReading
from fluency.analysis.power import SampleSizes
from fluency.analysis.robustness import MISSING_PROGRAM, conditions_of, setting_for
from fluency.analysis.study_analysis import Analysis, ModelAnalysis
from fluency.common.canonical import canonical_json
from fluency.common.files import sha256
from fluency.common.words import plural
from fluency.core.provenance import Provenance
from fluency.core.shells import SHELLS, Condition
from fluency.core.study import Study
from fluency.report.markdown import code
from fluency.report.numbers import points, seconds, signed, span


def question(analysis: Analysis) -> str:
    """What the study asks of each model."""
    baseline, challenger = (SHELLS[shell].title for shell in analysis.contrast)
    return f"Does a model write a working one-shot command more often in {challenger} than in {baseline}?"


def telling_first(analysis: Analysis) -> list[ModelAnalysis]:
    """The models, those at an edge after the others, and those without a verdict last."""
    return sorted(
        analysis.models, key=lambda model: (model.reading.band is None, bool(model.reading.edge))
    )


def attempt(number: int | None, measured: bool) -> str | None:
    """At which attempt a cell was measured or the last one failed; None at the first, or where none was made."""
    if number is None or number == 1:
        return None
    ordinal = f"{number}{ {2: 'nd', 3: 'rd'}.get(number, 'th') }"
    return (
        f"measured at the {ordinal} attempt"
        if measured
        else f"abandoned after the {ordinal} attempt"
    )


def extra_shells_note(analysis: Analysis) -> str:
    """Which shells are in the gap, with a blank before it; empty where the study has no other."""
    others = listed(
        short_names(shell for shell in analysis.shells_shown if shell not in analysis.contrast)
    )
    pair = listed(short_names(analysis.contrast))
    if not others:
        return ""
    return f" {others} is shown and enters no gap: *both shells* below means {pair}."


def headline_of(model: ModelAnalysis) -> str:
    """What one model did, with its name and what the decision table says."""
    said = f"{model.model} {model_sentence(model)}"
    return f"{said} Decision table: {judged(model, model.reading)}." if model.reading.band else said


def model_sentence(model: ModelAnalysis) -> str:
    """What one model did, to be read after its name."""
    gap = model.gap
    if gap is None or model.reading.band is None:
        return f"was not compared: {refusal(model)}."
    baseline, challenger = short_names(model.outcomes.contrast)
    below, above = gap.paired.baseline_rate, gap.paired.challenger_rate
    if not below.passes + above.passes:
        return (
            "solved nothing in either shell: for this model the tasks are too hard to compare the "
            "shells."
        )
    return (
        f"wrote a working command in {below.passes} of {below.scored} {baseline} and "
        f"{above.passes} of {above.scored} {challenger} runs: {challenger} {signed(gap.value)} "
        f"points (95 % interval {span(gap.interval)}). {claims_sentence(model)}"
    )


def judged(model: ModelAnalysis, reading: TableReading) -> str:
    """What the decision table says, and whether the interval supports it."""
    if reading.band is None:
        return "no verdict"
    if reading.edge:
        return f"{too(reading.edge)} to tell"
    if reading.band == "inconclusive":
        return model.words[reading.band].label
    name = side_name(reading.band, model.outcomes.contrast)
    said = "change nothing" if reading.band == "falsified" else f"mild evidence for {name}"
    return f"{said}, {'supported' if reading.supported else 'not supported'}"


def refusal(model: ModelAnalysis) -> str:
    """Why there is no verdict, and what was measured still."""
    seen = "; ".join(
        f"{SHELLS[shell].title} passed {rate.passes} of {rate.scored} runs"
        for shell in model.tallies
        if (rate := model.rates[shell])
    )
    return "; ".join(model.reading.refused) + (f" ({seen})" if seen else "")


SIZES = {
    "ten-or-more": f"{DIRECTION_PP} points or more",
    "under-five": f"less than {NOISE_PP} points",
    "under-ten": f"less than {DIRECTION_PP} points",
}


def claims_sentence(model: ModelAnalysis) -> str:
    """Who is ahead and by how much: what the printed interval shows, and nothing else."""
    gap = model.gap
    if gap is None:
        return ""
    if gap.ahead:
        said = f"{side_name(gap.ahead, model.outcomes.contrast)} is ahead"
        if gap.edge:
            said += f"; these tasks are {too(gap.edge)} to tell by how much"
        elif gap.size == "open":
            said += f"; whether by {SIZES['ten-or-more']} is open"
        else:
            said += f", by {SIZES[gap.size]}"
    else:
        said = "Who is ahead is open"
        if gap.edge:
            said += f"; these tasks are {too(gap.edge)} to tell by how much the shells differ"
        elif gap.size != "open":
            said += f"; the gap is {SIZES[gap.size]}"
    if model.reading.provisional:
        said = f"On what was measured: {said}"
    return f"{said}."


def too(edge: Edge) -> str:
    """`too hard` at the floor, `too easy` at the ceiling."""
    return "too hard" if edge == "floor" else "too easy"


def tasks_needed(sizes: SampleSizes) -> str:
    """How many tasks each question would take; `make power` prints the same numbers."""
    return (
        f"With this spread, four times in five, about {sizes.ahead} tasks show who is ahead (of a "
        f"true gap of {DIRECTION_PP}), as many that it is {DIRECTION_PP} or more (of "
        f"{2 * DIRECTION_PP}), about {sizes.no_difference} that it is less than {NOISE_PP} (of 0)."
    )


def composition_sentences(analysis: Analysis) -> str:
    """Why an answer's shell does not determine its language; empty where it does."""
    return " ".join(
        f"{shell.unix_programs_note} The table says how far its runs measure {shell.short_title} itself."
        for shell in map(SHELLS.__getitem__, analysis.shells_shown)
        if shell.unix_programs_note
    )


def gaps_under_conditions(model: ModelAnalysis) -> str:
    """The gap of the same answers under each condition, a paragraph each; empty where no shell has one."""
    return "\n\n".join(
        _gap_under(model, condition) for condition in conditions_of(model.outcomes.contrast)
    )


def _gap_under(model: ModelAnalysis, condition: Condition) -> str:
    setting = setting_for(condition, model.outcomes.contrast)
    found = model.under(condition)
    if found is None:
        return f"The gap with {setting} was not measured."
    paired = found.paired
    baseline, challenger = short_names(model.outcomes.contrast)
    return (
        f"With {setting}, the gap is **{signed(paired.gap)} pp** "
        f"({challenger} {paired.challenger_rate.passes}/{paired.challenger_rate.scored}, "
        f"{baseline} {paired.baseline_rate.passes}/{paired.baseline_rate.scored}, {len(paired.tasks)} tasks; "
        f"95 % {span(found.interval)}), against {signed(model.gap.value) if model.gap else 'n/a'} pp as designed. "
        f"{condition.caveat}"
    )


def short_names(shells: Iterable[str]) -> list[str]:
    """As they appear in sentences and headers."""
    return [SHELLS[shell].short_title for shell in shells]


def side_name(side: str | None, contrast: tuple[str, str]) -> str:
    """The short name of the challenger, or of the baseline."""
    return SHELLS[contrast[side == "challenger"]].short_title


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)


def deadlines(analysis: Analysis, study: Study) -> str:
    """Each shell's deadline."""
    limits = study.sandbox.limits.timeout_s
    return listed(
        [
            f"{seconds(limits[shell])} in {SHELLS[shell].short_title}"
            for shell in analysis.shells_shown
        ]
    )


LEAST_PP = int(100 * MISSING_PROGRAM_GAP)


def missing_programs(model: ModelAnalysis) -> str:
    """How often each shell called programs that the image lacks, or that no machine has, and the effect on the gap."""
    measured = {shell: tally.measured for shell, tally in model.tallies.items() if tally.measured}
    counted = {line.failure_class: line.counts for line in model.failures}
    lacked = counted.get(MISSING_PROGRAM, {})
    parts = [
        f"{_counts_by_shell(counted.get(name, {}), measured)} (`{name}`)"
        for name in (MISSING_PROGRAM, "invented-command")
    ]
    said = (
        f"Failed for a program that other machines have and this sandbox lacks: {parts[0]}; "
        f"for a command that does not exist: {parts[1]}."
    )
    baseline, challenger = model.outcomes.contrast
    if not measured.keys() >= {baseline, challenger}:
        return said
    shares = {
        shell: Fraction(lacked.get(shell, 0), measured[shell]) for shell in (baseline, challenger)
    }
    apart = abs(shares[challenger] - shares[baseline])
    if apart < MISSING_PROGRAM_GAP:
        return f"{said} The shells differ by {points(apart)} points in the first, less than {LEAST_PP}."
    spared = min(shares, key=shares.__getitem__)
    gaps = {
        line.key: signed(line.estimate.paired.gap) if line.estimate else "n/a"
        for line in model.sensitivities
    }
    return (
        f"{said} **The sandbox may favour {SHELLS[spared].short_title}**: the shells differ by {points(apart)} points "
        f"in the first, {LEAST_PP} or more. The gap is {gaps['missing_left_out']} pp with those cells left out and "
        f"{gaps['missing_passed']} pp with all of them passed, against {gaps['headline']} pp as designed."
    )


def side_effects(model: ModelAnalysis) -> str:
    """How many commands changed their folder or left processes; empty where none did."""
    cells = model.side_effects
    if not cells:
        return ""
    by_shell = [
        f"{name} {sum(cell.shell == shell for cell in cells)}"
        for shell, name in zip(model.tallies, short_names(model.tallies), strict=True)
    ]
    return (
        f"{plural(len(cells), 'measured run')} ({', '.join(by_shell)}) changed the working folder, "
        "which is the command's own, or left processes behind, whether they passed or not. That a "
        f"folder was changed is reported and never judged; the first is {cell_link(cells[0].path)}."
    )


def attempts(model: ModelAnalysis) -> str:
    """The cells whose command was interrupted from outside; empty without any."""
    found = model.retried_cells
    if not found:
        return ""
    cells = "; ".join(
        f"{cell_link(one.cell.path)} {attempt(one.attempts, one.measured)}" for one in found
    )
    were = "these" if len(found) > 1 else "this"
    return (
        f"an attempt at {plural(len(found), 'cell')} was interrupted from outside while its "
        f"command ran; {were}: {cells}."
    )


def cell_link(path: str) -> str:
    """A link to a cell in the explorer."""
    return f"[{path}](explorer.html#{path})"


def top_commands(model: ModelAnalysis) -> list[str]:
    """What each shell's answers call most often."""
    return [
        f"{SHELLS[made.shell].title} answers call most often (answers that do, of {made.answers}): "
        f"{', '.join(f'{code(name, 60)} {count}' for name, count in made.top_commands)}."
        for made in model.composition.values()
        if made.top_commands
    ]


def _counts_by_shell(counts: Mapping[str, int], measured: Mapping[str, int]) -> str:
    return ", ".join(
        f"{SHELLS[shell].short_title} {counts.get(shell, 0)}/{of}" for shell, of in measured.items()
    )


def order_of_asking(analysis: Analysis) -> str:
    """For each model, how the order of its answers compares with the planned one."""
    return "; ".join(f"{name}: {_order_words(order)}" for name, order in analysis.orders.items())


def _order_words(order: AskingOrder) -> str:
    if order.state == "unknown":
        return "order unknown (too few answers with a time)"
    late = listed([f"{count} in {SHELLS[s].short_title}" for s, count in order.late.items()])
    kept = f"late: {late}" if order.state == "departed" else "in one mixed, seeded order"
    return kept + (f", {order.runs} runs" if order.runs > 1 else "")


MAX_LISTED = 8
STATED_ELSEWHERE = {
    "schema_version",
    "decision",
    "task_sha256",
    "registration",
    "deviations",
    "first_answer_utc",
}
STATED_ELSEWHERE |= {"conditions", "limits"}
"""What the report states in other places, from the study."""


def provenance_facts(provenance: Provenance) -> list[tuple[str, str]]:
    """Every fact as (dotted key, value), in a fixed order; what is empty is left out, an unknown commit is listed."""
    values = provenance.model_dump(mode="json", exclude=STATED_ELSEWHERE)
    values["image"], values["engine"] = values.pop("images"), values.pop("engines")
    head = [("commit", "commit"), ("uncommitted changes", "dirty"), ("version", "version")]
    stated = [(title, values.pop(key)) for title, key in head]
    facts = [(title, "unknown" if value is None else _shown(value)) for title, value in stated]
    for key in (
        "config_files",
        "start_up_s",
        *sorted(values.keys() - {"config_files", "start_up_s"}),
    ):
        if values[key] is not None:
            facts += _flat(key, values[key])
    return facts


def unofficial_builds(provenance: Provenance) -> list[str]:
    """A sentence for each shell that was not the official release's build, since a verdict is on that build then."""
    found = {
        (shell, image.archives.get(shell, "unknown"))
        for image in provenance.images
        for shell in image.unofficial
    }
    return [
        f"{SHELLS[shell].short_title if shell in SHELLS else shell} here is another build than the official release's "
        f"(its archive has SHA-256 {digest}): what is said of it is said of that build."
        for shell, digest in sorted(found)
    ]


def registration_summary(provenance: Provenance) -> tuple[str, str]:
    """How a registration stands to the first answer, in two or three words and in a sentence; empty without one."""
    made, first = provenance.registration, provenance.first_answer_utc
    if made is None:
        return "", ""
    if made.utc is None:
        return (
            "Registered",
            "at a time that is not known: the registration is of an older form that does not say it.",
        )
    tree = (
        ""
        if made.dirty is None
        else ", with uncommitted changes"
        if made.dirty
        else ", with no uncommitted change"
    )
    commit = f"at commit {made.commit}{tree}" if made.commit else "at a commit that is not known"
    said = f"on {made.utc} {commit}; " + (
        f"the first answer came {first}." if first else "no answer has come yet."
    )
    said += f" It is {made.among}." if made.among else ""
    heading = {
        True: "Registered in advance",
        False: "Registered, but not in advance",
        None: "Registered",
    }
    return heading[
        made.precedes(first)
    ], f"{said} A clock can be set: what proves the order is in docs/archive.md."


def _flat(key: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        return [
            fact for name in sorted(value, key=str) for fact in _flat(f"{key}.{name}", value[name])
        ]
    if isinstance(value, list):
        if len(value) == 1:
            return _flat(key, value[0])
        if any(isinstance(item, Mapping | list) for item in value):
            return [
                fact for place, item in enumerate(value) for fact in _flat(f"{key}.{place}", item)
            ]
        if len(value) > MAX_LISTED:
            digest = sha256(canonical_json([_shown(item) for item in value]))
            return [(key, f"{len(value)} values, SHA-256 of their list {digest}")]
        return [(key, ", ".join(map(_shown, value)))] if value else []
    return [(key, _shown(value))]


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
