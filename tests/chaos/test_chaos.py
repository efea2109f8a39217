"""Three disturbed runs of a small study, and the ledger that must see what went wrong; `make chaos` tries all faults.

A run killed with SIGKILL is in tests/workflow/test_reruns.py.
"""

import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from fluency.common.files import pretty_json
from tests.generation.endpoint import Seen
from tools.chaos.engine import OwnEngine, own_engine, why_no_engine
from tools.chaos.faults import FAULTS
from tools.chaos.ledger import Ledger
from tools.chaos.study_run import Size
from tools.chaos.trial import try_fault, undisturbed

SMALL = Size(tasks=2, trials=1)
SEED = 7


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
@pytest.mark.parametrize("kind", ["engine", "disk"])
def test_a_disturbed_run_is_finished_by_the_next_with_the_same_table_and_asks_nothing_twice(
    request, table, kind
):
    fault = FAULTS[kind]
    if why := fault.why_not():
        pytest.skip(why)
    own = request.getfixturevalue("engine") if fault.needs_engine else None
    trial = try_fault(1, kind, SMALL, table, Random(f"{SEED} {kind}"), own, gone_s=3)
    assert trial.problems == [] and (trial.asked_twice, trial.runs_after) == (0, 1)


@pytest.mark.engine
def test_an_interrupt_reaches_a_run_also_where_the_campaign_itself_ignores_it(table):
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        trial = try_fault(1, "interrupt", SMALL, table, Random(f"{SEED} ignored"), None, gone_s=3)
    finally:
        signal.signal(signal.SIGINT, usual)
    assert trial.problems == [] and trial.exit_code not in (0, None)


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
    assert (
        ledger.reply_to(seen("p")).reset is None
    )  # the same request again, in the same run: nothing was at hand
    assert ledger.lost() == [ledger.requests[1]] and ledger.repeated_requests == []
