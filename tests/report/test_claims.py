"""Every claim of every page, recomputed from the printed interval by code written another way."""

import random
import re
from fractions import Fraction
from math import sqrt
from statistics import fmean, stdev

import pytest
from scipy.stats import t as student

from fluency.analysis.study_analysis import analyse
from fluency.archive.decision import _lines
from fluency.core.shells import DESIGN_SHELLS
from fluency.report.compare import compare, open_study_table
from fluency.report.explorer import page_header
from fluency.report.figures import draw_gaps
from fluency.report.numbers import span
from fluency.report.sentences import decides, headline_of, result_rows
from fluency.report.templates import render
from tests.synthetic_tables import make_frame, make_study, make_tasks

STUDIES = 90
KINDS = ("mixed", "floor", "ceiling", "flat", "one", "apart", "apart", "noise", "turned")
NUMBER = r"[+−]?\d+\.\d"
TITLES = {"bash": "Bash", "pwsh": "PowerShell", "zsh": "Zsh"}
SPAN = re.compile(rf"({NUMBER}) to ({NUMBER})")


@pytest.fixture
def only_claims(monkeypatch, zsh):
    """Leaves out what makes no claim from the interval and takes most of the time."""
    monkeypatch.setattr("fluency.analysis.contrast.Contrast.sensitivities", ())
    slow = ("asking_order", "composition", "times", "failure_lines")
    for name in slow:
        monkeypatch.setattr(f"fluency.analysis.descriptive.{name}", lambda *rest: ())


def made_study(seed, again=0):
    """A random study: 1 to 3 models, floors, ceilings, flat, one task different, missing cells.

    again: Above 0 another study of the same design.
    """
    rng = random.Random(seed)
    tasks, trials = make_tasks(rng.choice([15, 18, 20, 24])), rng.choice([1, 2, 5])
    shells = (*DESIGN_SHELLS, "zsh") if rng.random() < 0.2 else DESIGN_SHELLS
    study = make_study([f"m{n}" for n in range(rng.randint(1, 3))], trials, shells)
    rng = random.Random(seed + 2 * STUDIES * (1 + again))
    rates = {}
    for model in study.models:
        kind = rng.choice(KINDS)
        odd, lift = rng.choice(tasks).id, rng.uniform(-0.6, 0.6)
        for task in tasks:
            easy = rng.betavariate(0.5, 0.5)
            for shell in shells:
                is_pwsh, side = shell == "pwsh", {"pwsh": 1, "zsh": -1}.get(shell, 0)
                rates[model.alias, task.id, shell] = {
                    "mixed": easy,
                    "floor": 0.03,
                    "ceiling": 0.96,
                    "flat": float(easy > 0.5),
                    "one": float((easy > 0.5) != (task.id == odd and is_pwsh)),
                    "apart": easy + lift * side,
                    "noise": rng.random(),
                    "turned": float(is_pwsh == bool(again)),
                }[kind]
    missing = rng.choice([0, 0, 0.05, 0.08])

    def passes(cell):
        if rng.random() < missing:
            return None
        return rng.random() < rates[cell.model, cell.task, cell.shell]

    return study, tasks, make_frame(study, tasks, passes)


def value(text):
    return float(text.replace("−", "-"))


def rates_of(frame, trials):
    """Shell -> task -> passes / measured trials, of the tasks with half of the trials."""
    rates = {}
    for shell, rows in frame[frame["status"] == "measured"].groupby("shell"):
        found = rows.groupby("task")["passed"].agg(["sum", "count"])
        found = found[found["count"] * 2 >= trials]
        rates[shell] = {task: Fraction(int(s), int(n)) for task, s, n in found.itertuples()}
    return rates


def mean(values):
    return sum(values, Fraction()) / len(values)


def interval_of(differences, means, reach):
    """The interval of the mean difference in points: with pseudo-tasks as values of a list."""
    floats, size = [float(gap) for gap in differences], len(differences)
    halves = [student.ppf(0.975, size - 1) * stdev(floats) / sqrt(size)]
    is_flat = len(set(differences)) == 1
    if is_flat or any(not Fraction(1, 10) < rate < Fraction(9, 10) for rate in means):
        more = [*floats, fmean(floats) - reach / 2, fmean(floats) + reach / 2]
        halves.append(student.ppf(0.975, size + 1) * stdev(more) / sqrt(size + 2))
    ends = (fmean(floats) - max(halves), fmean(floats) + max(halves))
    return tuple(100 * min(reach, max(-reach, end)) for end in ends)


def provisional(frame, shells, study, tasks, low, high):
    """Whether a claim or the row fails where all missing trials go one way or the other."""
    whole, ends, held = frame.copy(), [], True
    first, other = shells
    if not frame["status"].eq("missing").any():
        return False
    for winner in shells:
        lost = frame["status"].eq("missing")
        whole.loc[lost, "passed"] = frame["shell"].eq(winner)[lost]
        rates = rates_of(whole.assign(status="measured"), study.trials)
        gaps = [rates[other][task] - rates[first][task] for task in rates[first]]
        assert len(gaps) == tasks
        ends.append(mean(gaps))
        means = [mean([*rates[shell].values()]) for shell in shells]
        a, b = (round(end, 1) for end in interval_of(gaps, means, 1))
        near, held_near = max(abs(a), abs(b)), max(abs(low), abs(high))
        held &= not ((low > 0 and a <= 0) or (high < 0 and b >= 0))
        held &= not ((low >= 10 and a < 10) or (high <= -10 and b > -10))
        held &= not ((held_near < 5 <= near) or (held_near < 10 <= near))
    rates = rates_of(frame, study.trials)
    kept = rates[first].keys() & rates[other].keys()
    ends.append(mean([rates[other][task] - rates[first][task] for task in kept]))
    places = {
        (20 * end >= 1) + (10 * end >= 1) - (20 * end <= -1) - (10 * end <= -1) for end in ends
    }
    return not held or len(places) > 1


def gap_interval_of(frame, shells, trials):
    rates = rates_of(frame, trials)
    first, other = (rates.get(shell, {}) for shell in shells)
    tasks = first.keys() & other.keys()
    if not tasks:
        return None
    means = [mean([own[task] for task in tasks]) for own in (first, other)]
    return interval_of([other[task] - first[task] for task in tasks], means, 1)


def expected_claims(shells, low, high, edge, is_supported):
    """What may be said of a printed interval, less what the decision table says then."""
    first, other = (f"{TITLES[shell]} is ahead" for shell in shells)
    who = other if low > 0 else first if high < 0 else ""
    near = max(abs(low), abs(high))
    size = "less than 5 points" if near < 5 else "less than 10 points" if near < 10 else ""
    if low >= 10 or high <= -10:
        size = "10 points or more"
    passed, others = {"easy": ("nearly always", "harder")}.get(edge, ("hardly ever", "easier"))
    said = who or "Who is ahead is open"
    if size:
        said += f", by {size}" if who else f"; the gap is {size}"
        if edge:
            said += f" on these tasks, which both pass {passed}; {others} tasks may differ"
    elif edge:
        said += f"; both pass these tasks {passed}, so {others} ones may differ by more"
    elif who:
        said += "; perhaps by less than the 10 points the table asks for"
    return said + (". By the decision table: " if is_supported else ".")


def expected_support(low, high, gap):
    points = 100 * gap
    if points >= 10:
        return low >= 10
    if points <= -10:
        return high <= -10
    if abs(points) < 5:
        return low > -5 and high < 5
    return (low >= 5 and high < 10) or (low > -10 and high <= -5)


@pytest.mark.parametrize("part", range(5))
def test_pages_claim_what_the_printed_interval_shows(part, only_claims):
    """Sentence, tables, figure, decision record, explorer and terminal agree with it and each other."""
    for seed in range(part, STUDIES, 5):
        study, tasks, frame = made_study(seed)
        analysis = analyse(frame, study, tasks)
        figure = draw_gaps(analysis)
        page = render("sections/results.md.j2", {"results": result_rows(analysis)})
        rows = {line.split("|")[1].strip(): line for line in page.splitlines()}
        first, ahead, is_any_supported = decides(analysis), set(), False
        others = study.shells[1:]
        designed = [(model.alias, ("bash", other)) for model in study.models for other in others]
        for pair, (model, shells) in zip(analysis.contrasts, designed, strict=True):
            assert (pair.model, pair.shells) == (model, shells)
            two = frame[(frame["model"] == model) & frame["shell"].isin(shells)]
            name = f"{model}, {TITLES[shells[1]]}" if len(others) > 1 else model
            found = gap_interval_of(two, shells, study.trials)
            if pair.gap is None or found is None:
                assert pair.gap is None and found is None
                continue
            ends = SPAN.search(span(pair.gap.interval)).groups()
            low, high = map(value, ends)
            assert (low, high) == pytest.approx(found, abs=0.0501), seed
            shown = " to ".join(ends)
            row = rows[name]
            *_, gap, claims, _ = next(r for r in page_header(analysis)["rates"] if r[0] == name)
            for text in (row, gap, headline_of(pair), figure.alt, figure.svg):
                assert shown in text, seed
            if pair.verdict is None:
                assert "is ahead" not in headline_of(pair)
                continue
            rates = pair.gap.paired.rates
            edge = "easy" if min(rates) >= Fraction(9, 10) else None
            edge = "hard" if max(rates) <= Fraction(1, 10) else edge
            supported = expected_support(low, high, pair.gap.value)
            said = expected_claims(shells, low, high, edge, supported)
            held = provisional(two, shells, study, len(tasks), low, high)
            assert pair.verdict.provisional == held, seed
            assert claims.startswith("On what was measured: " * held + said), (seed, claims)
            assert supported or claims.endswith(said)
            for text in (row, headline_of(pair), figure.alt, first):
                assert claims in text, (seed, claims)
            assert shown in first
            if who := re.match("|".join(TITLES.values()), said):
                ahead.add((shells, who[0]))
            is_any_supported |= supported
            lines = _lines(pair)
            is_proposed = not lines["changes"].startswith("Nothing is proposed")
            assert (lines["model"], is_proposed) == (name, supported or held), seed
        disagree = len(ahead) > len({shells for shells, _ in ahead})
        assert ("models disagree" in first) == disagree, seed
        is_nothing = any(pair.verdict for pair in analysis.contrasts) and not is_any_supported
        assert ("supports a change of policy" in first) == (is_nothing and not disagree)


def test_compare_prints_the_interval_of_each_change(tmp_path, zsh):
    """Of a rate within 100 points, of a gap within 200."""
    widest = 0.0
    for seed in range(0, STUDIES, 6):
        study, _, *frames = made_study(seed)
        frames.append(made_study(seed, 1)[2])
        for name, frame in zip("ab", frames, strict=True):
            (tmp_path / name).mkdir(exist_ok=True)
            frame.to_csv(tmp_path / name / "cells.csv", index=False)
        page = compare(*(open_study_table(str(tmp_path / name)) for name in "ab")).markdown()
        for part in re.split("^## ", page, flags=re.MULTILINE)[1 : 1 + len(study.models)]:
            model = part.split("\n")[0]
            both = [rates_of(frame[frame["model"] == model], study.trials) for frame in frames]
            named = rf"^\| (gap of (?:the shells|\w+)|{'|'.join(TITLES.values())})\b.*?\|(.*)\|$"
            rows = dict(re.findall(named, part, re.MULTILINE))
            gaps = {f"gap of {TITLES[other]}": ("bash", other) for other in study.shells[1:]}
            if len(gaps) == 1:
                gaps = {"gap of the shells": DESIGN_SHELLS}
            wanted = {TITLES[shell]: (shell,) for shell in study.shells} | gaps
            assert [*rows] == [*wanted]
            for title, shells in wanted.items():
                kept = set.intersection(*(set(of.get(s, {})) for of in both for s in shells))
                before, after = (
                    {t: of[shells[-1]][t] - (of["bash"][t] if title in gaps else 0) for t in kept}
                    for of in both
                )
                means = [mean([of[s][t] for t in kept]) for of in both for s in shells]
                changes = [after[task] - before[task] for task in kept]
                ends = interval_of(changes, means, len(shells))
                shown = [cell.strip().removesuffix(" %") for cell in rows[title].split("|")]
                printed_ends = tuple(map(value, SPAN.fullmatch(shown[3]).groups()))
                assert printed_ends == pytest.approx(ends, abs=0.0501), (seed, title)
                numbers = [mean([*side.values()]) for side in (before, after)] + [mean(changes)]
                exact = [float(100 * number) for number in numbers]
                assert [*map(value, shown[:3])] == pytest.approx(exact, abs=0.0501), (seed, title)
                widest = max(widest, *map(abs, printed_ends))
    assert widest == 200


def test_analysis_swaps_with_the_shells_and_ignores_the_order_of_tasks(only_claims):
    sides = {"challenger": "baseline", "baseline": "challenger"}
    for seed in range(30):
        study, tasks, frame = made_study(seed)
        mixed = analyse(frame.sample(frac=1, random_state=seed), study, tasks[::-1])
        swapped = {}
        for other in study.shells[1:]:
            shells = frame["shell"].replace({"bash": other, other: "bash"})
            swapped[other] = analyse(frame.assign(shell=shells), study, tasks)
        pairs = zip(analyse(frame, study, tasks).contrasts, mixed.contrasts, strict=True)
        for place, (one, three) in enumerate(pairs):
            two = swapped[one.shells[1]].contrasts[place]
            assert one.shells == two.shells == three.shells
            assert one.refused == three.refused
            if one.gap:
                assert one.gap.band == three.gap.band
                assert one.gap.provisional == three.gap.provisional
                assert one.gap.interval == three.gap.interval
                assert one.gap.value == -two.gap.value
                assert one.gap.interval == (-two.gap.interval.high, -two.gap.interval.low)
                assert sides.get(one.gap.ahead) == two.gap.ahead
                assert (one.gap.size, one.gap.supported) == (two.gap.size, two.gap.supported)
