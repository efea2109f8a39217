"""The explorer's addresses, its links between cells, all shells of a task side by side, attempts, and paper."""

import base64
import re
from dataclasses import replace

from fluency.common.paths import TASKS
from fluency.core.study import Cell
from fluency.core.table import cell_row, to_frame
from fluency.scoring.score_cell import score_cell
from tests.report.explorer_factory import make_explorer
from tests.report.test_explorer_use import DIALOG, FIRST, FOCUSED, LINE, choose

COUNT = "document.getElementById('count').textContent"
TITLE = f"{DIALOG}.querySelector('h2').textContent"


def fields(page):
    every = "[...document.querySelectorAll('input, select')]"
    return page.run(f"Object.fromEntries({every}.map((f) => [f.id, f.value]))")


def click(page, name):
    """Click the link or button in the dialog with this text."""
    every = f"[...{DIALOG}.querySelectorAll('a, button')]"
    page.run(f"{every}.find((e) => e.textContent.endsWith({name!r})).click()")


def test_explorer_filters_are_in_the_address(write, new_page):
    page = new_page()
    path = write(make_explorer(2, 8, 3))
    page.open(path)
    failed = choose(page, "result", "failed")
    both = choose(page, "category", "network-fetch")
    page.run("document.getElementById('text').focus()")
    choose(page, "text", "v")
    last = choose(page, "text", "vox & more?")
    address = page.run("location.hash")
    assert address == "#?text=vox+%26+more%3F&result=failed&category=network-fetch"
    again = new_page()
    again.open(path, address[1:])
    assert again.run(COUNT) == last and fields(again) == fields(page)
    page.run("history.back()")  # what is typed in a row is one step
    page.wait(f"{COUNT} === {both!r}")
    assert fields(page)["text"] == ""
    page.run("history.back()")
    page.wait(f"{COUNT} === {failed!r}")
    page.run("history.back()")
    page.wait(f"{COUNT} === '96 cells' && location.hash === ''")
    page.run("history.go(3)")
    page.wait(f"{COUNT} === {last!r} && document.getElementById('text').value === 'vox & more?'")


def test_explorer_history_of_an_opened_cell(opened):
    page = opened(make_explorer(2, 2, 3, states={f"{FIRST}/{n}": "passed" for n in (1, 2, 3)}))
    choose(page, "model", "qwen-0.5b")
    steps = page.run("history.length")
    page.run("document.querySelector('button.mark').click()")
    page.wait(f"{DIALOG}.open")
    assert page.run("location.hash") == f"#{FIRST}/1?model=qwen-0.5b"
    page.press("n")
    click(page, "PowerShell 7")
    page.wait(f"{TITLE}.includes('PowerShell 7, stale-lockfiles-0, trial 2')")
    page.run("history.back()")
    page.wait(f"{TITLE}.includes('Bash, stale-lockfiles-0, trial 2')")
    click(page, "qwen-3b")
    page.wait(f"{TITLE}.includes('qwen-3b, Bash, stale-lockfiles-0, trial 2')")
    page.press("Escape")
    page.wait("location.hash === '#?model=qwen-0.5b'")
    assert not page.run(f"{DIALOG}.open") and page.run("history.state.steps") is None
    page.run("history.back()")
    page.wait(f"{COUNT} === '24 cells'")
    assert page.run("history.length") == steps + 2  # the cell and its neighbour, both ahead now


def test_explorer_names_an_unknown_address(write, new_page):
    path = write(make_explorer(1, 1, 1, states={f"{FIRST}/1": "passed"}))
    page = new_page()
    page.open(path, "?model=opus&result=passed")
    assert page.run(COUNT).endswith("cells; nothing in this study is Model opus")


def test_explorer_task_shows_both_shells(opened):
    states = {f"{FIRST}/2": "missing", f"{FIRST}/1": "silent-wrong", f"{FIRST}/3": "passed"}
    made = make_explorer(2, 3, 3, states=states)
    page = opened(made, "?order=name")
    page.press(*["Tab"] * 12, "ArrowDown", "b")
    page.wait(f"{DIALOG}.open")
    assert page.run("location.hash") == f"#{LINE}?order=name"
    assert (
        "stale-lockfiles-0, both shellsBash 1 of 2 passed, 1 not measured, PowerShell 7 "
        in page.run(TITLE)
    )
    heads = page.run(f"[...{DIALOG}.querySelectorAll('.shells th')].map((e) => e.textContent)")
    assert heads == ["Trial", "Bash", "PowerShell 7", "1", "2", "3"]
    shown = page.run(f"[...{DIALOG}.querySelectorAll('.shells td')].map((e) => e.textContent)")
    for cell in made.study.cells([made.tasks[0].id]):
        if cell.model == "qwen-0.5b":
            text = shown[2 * (cell.trial - 1) + (cell.shell == "pwsh")]
            generation, _, score = made.load(cell)
            said = [generation.answer.text, score.why] if score else ["Nothing has been asked"]
            assert all(words in text for words in said)
    click(page, "failed: silent wrong")
    page.wait(f"{TITLE}.includes('Bash, stale-lockfiles-0, trial 1')")
    page.press("b")
    page.wait(f"{TITLE}.includes('both shells')")
    page.press("n")
    page.wait(f"{TITLE}.startsWith('qwen-0.5b, worker-queues-2, both shells')")
    click(page, "qwen-3b")
    page.wait(f"{TITLE}.startsWith('qwen-3b, worker-queues-2')")
    page.press("Escape")
    page.wait("location.hash === '#?order=name'")
    assert page.run(FOCUSED).startswith("qwen-3b, Bash, worker-queues-2, trial 1")
    page.run("document.querySelector('#cells a').click()")
    page.wait(f"{TITLE}.startsWith('qwen-0.5b, crate-versions-1, both shells')")


def test_explorer_states_attempts(opened):
    made = make_explorer(1, 1, 3, states={f"{FIRST}/{n}": "passed" for n in (1, 2, 3)})
    (task,) = made.tasks
    task._folder = TASKS / "stale-lockfiles"
    reason = "its command was started 3 times"

    records = {cell: made.load(cell) for cell in made.study.cells([task.id])}
    second, third = (Cell(*FIRST.split("/"), trial=trial) for trial in (2, 3))
    again = records[second].execution.model_copy(update={"attempts": 2})
    records[second] = records[second]._replace(execution=again)
    lost = {"attempts": 3, "runs": [], "unmeasured": reason}
    lost = records[third].execution.model_copy(update=lost)
    score = score_cell(made.study, task, records[third].generation, lost, None, "c" * 64)
    records[third] = records[third]._replace(execution=lost, score=score)
    frame = to_frame([cell_row(cell, task, found) for cell, found in records.items()])
    page = opened(replace(made, frame=frame, load=records.__getitem__), f"{FIRST}/2")
    assert "passed, measured at the 2nd attempt" in page.run(TITLE)
    said = page.run(f"{DIALOG}.textContent")
    assert "measured at the 2nd attempt: the others were interrupted" in said
    page.press("p")
    page.wait(f"{TITLE}.includes('trial 1')")
    assert "attempt" not in page.run(TITLE)
    page.press("n", "n")
    page.wait(f"{TITLE}.includes('trial 3')")
    said = f"missing, abandoned after the 3rd attempt – Not measured: {reason}."
    assert page.run(TITLE).endswith(said)
    page.press("Escape")
    page.wait(f"!{DIALOG}.open")
    assert choose(page, "result", "again") == "2 of 6 cells"


PAPER = f"""
(() => {{
  const shown = (part) => part.getClientRects().length > 0;
  const cut = [{DIALOG}, ...{DIALOG}.querySelectorAll('*')].filter((part) => shown(part) && part.className !== 'vh'
    && part.clientHeight && part.scrollHeight > part.clientHeight + 1).map((part) => part.tagName + '.' + part.className);
  return {{ cut, controls: [...document.querySelectorAll('button:not(.mark), input, select, nav, kbd')].filter(shown).length,
    table: shown(document.getElementById('cells')), closed: document.querySelectorAll('details:not([open])').length,
    modal: {DIALOG}.matches(':modal'), ground: getComputedStyle(document.documentElement).backgroundColor }};
}})()
"""


def on_paper(page):
    """What paper shows, in a browser that is set to dark."""
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.call("Emulation.setEmulatedMedia", media="print", features=dark)
    page.run("dispatchEvent(new Event('beforeprint'))")
    shown = page.run(PAPER)
    page.run("dispatchEvent(new Event('afterprint'))")
    page.call("Emulation.setEmulatedMedia", media="screen", features=dark)
    return shown


def test_explorer_prints_an_opened_cell(opened):
    made = make_explorer(1, 2, 2, scale=12, states={f"{FIRST}/1": "silent-wrong"})
    page = opened(made, f"{FIRST}/1", height=600)
    before = page.run(f"{DIALOG}.innerHTML")
    shown = on_paper(page)
    nothing = {"cut": [], "controls": 0, "table": False, "closed": 0, "modal": False}
    assert shown == nothing | {"ground": "rgb(255, 255, 255)"}
    printed = base64.b64decode(page.call("Page.printToPDF")["data"])
    assert len(re.findall(rb"/Type /Page\b", printed)) > 2
    assert page.run(f"[{DIALOG}.matches(':modal'), {DIALOG}.innerHTML]") == [True, before]
    assert page.run("location.hash") == f"#{FIRST}/1"
    assert page.run(PAPER)["cut"]  # on the screen it scrolls


def test_explorer_prints_the_filtered_table(opened):
    page = opened(make_explorer(2, 20, 5), "?model=qwen-3b&text=find")
    shown = on_paper(page)
    assert (shown["controls"], shown["table"], shown["ground"]) == (0, True, "rgb(255, 255, 255)")
    assert page.run("document.getElementById('chosen').getClientRects().length") == 0
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.run("document.getElementById('chosen').innerText") == "(Find: find; Model: qwen-3b)"
    head = "getComputedStyle(document.querySelector('#cells thead')).display"
    assert page.run(head) == "table-header-group"
