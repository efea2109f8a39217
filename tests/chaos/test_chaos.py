"""Four disturbed runs of a small study, and the ledger that must see what went wrong; `make chaos` tries all faults.

A run killed with SIGKILL is in tests/workflow/test_reruns.py.
"""

import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from fluency.common.files import pretty_json
from tests.generation.endpoint import Seen
from tools.chaos.__main__ import kinds
from tools.chaos.engine import OwnEngine, own_engine, why_no_engine
from tools.chaos.faults import FAULTS
from tools.chaos.ledger import Ledger
from tools.chaos.page import page_of
from tools.chaos.study_run import Size
from tools.chaos.trial import Trial, try_fault, undisturbed

SMALL = Size(tasks=2, trials=1)
SEED = 7
GOOD = Trial(
    number=1,
    fault="kill",
    cells=4,
    records_before=5,
    exit_code=-9,
    runs_after=1,
    run_s=3.0,
    finish_s=6.0,
    requests=5,
    repeated=1,
    asked_twice=0,
    kept=5,
    made_again=1,
)


@pytest.fixture(scope="module")
def table(sandbox):
    return undisturbed(SMALL)[0]


BRIDGE = Path("/sys/class/net/docker0")


@pytest.fixture(scope="module")
def bridged(sandbox) -> bool:
    """Whether the first engine has its bridge, before a second one starts."""
    return BRIDGE.exists()


@pytest.fixture(scope="module")
def engine(bridged) -> Iterator[OwnEngine]:
    if why := why_no_engine():
        pytest.skip(why)
    with own_engine() as started:
        yield started


@pytest.mark.engine
def test_the_second_engine_leaves_the_networks_of_the_first_alone(bridged, engine):
    assert BRIDGE.exists() == bridged


@pytest.mark.engine
@pytest.mark.parametrize("kind", ["engine", "disk", "endpoint"])
def test_a_disturbed_run_is_finished_by_the_next_with_the_same_table_and_asks_nothing_twice(request, table, kind):
    fault = FAULTS[kind]
    if why := fault.why_not():
        pytest.skip(why)
    own = request.getfixturevalue("engine") if fault.needs_engine else None
    trial = try_fault(1, kind, SMALL, table, Random(f"{SEED} {kind}"), own, gone_s=3)
    assert trial.problems == []
    assert (trial.asked_twice, trial.runs_after) == (0, 1)


@pytest.mark.engine
def test_an_interrupt_reaches_a_run_also_where_the_campaign_itself_ignores_it(table):
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        trial = try_fault(1, "interrupt", SMALL, table, Random(f"{SEED} ignored"), None, gone_s=3)
    finally:
        signal.signal(signal.SIGINT, usual)
    assert trial.problems == []
    assert trial.exit_code not in (0, None)


def seen(prompt: str) -> Seen:
    return Seen("POST", "/v1/messages", {}, {"model": "m", "messages": [{"content": prompt}]})


def store(path: Path, number: int) -> None:
    path.write_text(pretty_json({"answer": {"raw": {"id": f"msg_{number}"}}}))


def test_a_request_for_an_answer_that_is_stored_or_under_way_is_noted(tmp_path):
    first, second = tmp_path / "1", tmp_path / "2"
    ledger = Ledger(lambda prompt: "true", {"p": [first, second]}, run=1)
    for number, path in enumerate((first, second)):
        ledger.reply_to(seen("p"))
        store(path, number)
    assert ledger.repeated_requests == [] and ledger.lost() == []
    ledger.reply_to(seen("p"))
    assert ledger.repeated_requests == ["p"]
    assert [asked.prompt for asked in ledger.lost()] == ["p"]  # what came for it is nowhere kept


def test_a_request_while_the_endpoint_is_gone_is_no_answer(tmp_path):
    ledger = Ledger(lambda prompt: "true", {"p": [tmp_path / "1"]}, run=1, gone=True)
    assert ledger.reply_to(seen("p")).reset == "before"
    ledger.gone = False
    assert ledger.reply_to(seen("p")).reset is None  # the same request again, in the same run: nothing was at hand
    assert ledger.lost() == [ledger.requests[1]] and ledger.repeated_requests == []


def test_every_kind_comes_in_turn_and_the_same_seed_draws_the_same():
    drawn = kinds(15, 1, list(FAULTS))
    assert set(Counter(drawn).values()) == {2, 3} and drawn == kinds(15, 1, list(FAULTS)) != kinds(15, 2, list(FAULTS))
    assert all(set(drawn[at : at + 6]) == set(FAULTS) for at in (0, 6))


def test_the_page_says_what_was_not_passed():
    page = page_of([GOOD, replace(GOOD, number=2, fault="disk", problems=["its table is another"])], 60.0, 1, ["x"])
    assert "2 trials of 4 cells, seed 1: 1 passed" in page
    assert "| SIGKILL to the whole group | 1 | 1 | 1 | 5 | 1 | 6 | 5 | 1 | 0 | 5 of 6 |" in page
    assert "- trial 2, disk: its table is another" in page and "Not done here: x." in page
