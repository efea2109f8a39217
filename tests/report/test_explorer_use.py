"""The explorer in use: by keyboard, by screen reader, in light and dark, on a phone, with 2,400 cells."""

import json
import re

import pandas as pd
import pytest

from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.study import Cell
from tests.report.explorer_factory import FAILURES, make_explorer

FIRST = "qwen-0.5b/bash/stale-lockfiles-0"
LINE = "qwen-0.5b/stale-lockfiles-0"
FOCUSED = "document.activeElement.getAttribute('aria-label')"
DIALOG = "document.getElementById('cell')"
KEYS = "document.getElementById('keys')"


def choose(page, field, value):
    """Set a filter as a user does, and return the count that is announced."""
    page.run(
        f"(() => {{ const f = document.getElementById({field!r}); f.value = {value!r}; f.dispatchEvent(new Event(f.type === 'search' ? 'input' : 'change')); }})()"
    )
    page.run("new Promise((done) => setTimeout(done, 200))")
    return page.run("document.getElementById('count').textContent")


def test_explorer_by_keyboard(opened):
    first = "qwen-0.5b/bash/crate-versions-1"
    made = make_explorer(2, 4, 3, states={f"{first}/{n}": "passed" for n in (1, 2, 3)})
    page = opened(made, "?order=name")
    # The report, six fields, Clear, CSV, the keys, then ONE stop for all the marks.
    page.press(*["Tab"] * 12)
    assert page.run(FOCUSED) == "qwen-0.5b, Bash, crate-versions-1, trial 1: passed"
    page.press("ArrowRight", "ArrowRight", "ArrowRight")
    assert page.run(FOCUSED).startswith("qwen-0.5b, PowerShell 7, crate-versions-1, trial 1")
    page.press("ArrowDown")
    assert page.run(FOCUSED).startswith("qwen-0.5b, PowerShell 7, fetch-top-crates-3, trial 1")
    page.press("ArrowUp", "ArrowLeft")
    assert page.run(FOCUSED).startswith("qwen-0.5b, Bash, crate-versions-1, trial 3")
    page.press("End")
    assert page.run(FOCUSED).startswith("qwen-3b, PowerShell 7, worker-queues-2, trial 3")
    page.press("Home", "ArrowRight")
    assert page.run("getComputedStyle(document.activeElement).outlineWidth") == "3px"
    page.press("Enter")
    page.wait(f"{DIALOG}.open")
    assert page.run("location.hash") == f"#{first}/2?order=name"
    page.press("n")
    page.wait(f"{DIALOG}.querySelector('h2').textContent.includes('trial 3')")
    page.press("ArrowLeft", "ArrowRight", "p", "p")  # faster than a cell is drawn
    page.wait(f"{DIALOG}.querySelector('h2').textContent.includes('trial 1')")
    page.press("Escape")
    # The event comes a moment after the closing.
    page.wait(f"!{DIALOG}.open && location.hash === '#?order=name'")
    assert page.run(FOCUSED).startswith("qwen-0.5b, Bash, crate-versions-1, trial 1")
    page.press("?")
    assert page.run(f"{KEYS}.matches(':modal') && {KEYS}.innerText.match(/[↑↓←→]/g).length") == 6
    page.press("n", "?")
    assert not page.run(f"{KEYS}.open || {DIALOG}.open")
    page.press("/")
    assert page.run("document.activeElement.id") == "text"


def test_explorer_is_accessible(write, new_page):
    page = new_page()
    path = write(make_explorer(2, 3, 2, states={f"{FIRST}/1": "silent-wrong"}))
    page.open(path)
    named = {(n["role"], n["name"]) for n in page.accessible()}
    assert {("searchbox", "Find"), ("search", "Filter the cells")} < named
    assert ("grid", "Cells by model, task and shell") in named
    fields = {name for role, name in named if role == "combobox"}
    assert fields == {"Result", "Made of", "Category", "Model", "Shell", "Order"}
    marks = {name for role, name in named if role == "button" and "trial" in name}
    assert len(marks) == 24
    assert "qwen-0.5b, Bash, stale-lockfiles-0, trial 1: failed: silent wrong" in marks
    world = "World 11, as designed, strict reading"
    in_cell = {"Command", "Prompt", world, f"Expected and printed, {world}"}
    for fragment, dialog, parts in (
        ("", "", set()),
        (f"{FIRST}/1", "stale-lockfiles-0, trial 1", in_cell),
        (LINE, "stale-lockfiles-0, both shells Bash", set()),
    ):
        page = new_page()
        page.open(path, fragment)
        page.run("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        nodes = page.accessible()
        unnamed = {n["role"] for n in nodes if n["focusable"] and not n["name"]}
        assert unnamed <= {"RootWebArea", "generic", "dialog"}
        assert not dialog or any(n["role"] == "dialog" and dialog in n["name"] for n in nodes)
        assert parts <= {n["name"] for n in nodes if n["role"] in ("region", "table")}


def test_explorer_cell_shows_all_of_its_records(opened, zsh):
    """Of a further shell, whose commands are coloured by its grammar."""
    first = FIRST.replace("/bash/", "/zsh/")
    states = {1: "silent-wrong", 2: "missing", 3: "not_measured"}
    states = {f"{first}/{trial}": state for trial, state in states.items()}
    made = make_explorer(1, 1, 3, states=states, shells=(*DESIGN_SHELLS, "zsh"))
    page = opened(made, f"{first}/1")
    records = made.load(Cell(*first.split("/"), trial=1))
    shown = page.run(f"{DIALOG}.textContent")
    assert "Zsh 5" in shown
    answer, score = records.generation.answer, records.score
    facts = [answer.text, answer.request.prompt, answer.received_utc, answer.request_key, score.why]
    facts += [f"{answer.usage.output_tokens} out", *(world.why for world in score.worlds)]
    facts += [line for world in score.worlds for line in world.expected]
    assert [text for text in facts if text not in shown] == []
    assert page.run(f"{DIALOG}.querySelectorAll('.diff').length") == len(score.worlds)
    assert page.run(f"{DIALOG}.querySelectorAll('.command [class^=tok-]').length") > 0
    page.run(f"location.hash = '{first}/2'")
    page.wait(f"{DIALOG}.textContent.includes('not asked yet')")
    page.press("n")
    page.wait(f"{DIALOG}.textContent.includes('the image holds no PowerShell')")


def test_explorer_colours_nothing_without_tokens(opened, monkeypatch):
    monkeypatch.setitem(
        SHELLS, "zsh", SHELLS["bash"].model_copy(update={"name": "zsh", "grammar": None})
    )
    made = make_explorer(1, 1, 1, shells=("bash", "zsh"))
    cell = Cell(*FIRST.replace("/bash/", "/zsh/").split("/"), trial=1)
    page = opened(made, cell.path)
    command = made.load(cell).execution.extraction.strict
    assert page.run(f"{DIALOG}.querySelector('.command').textContent") == command
    assert page.run(f"{DIALOG}.querySelectorAll('.command span').length") == 0


def test_explorer_filters_count_cells(opened):
    made = make_explorer(2, 8, 3)
    frame = made.frame
    frame.loc[frame.query("failure_class == 'silent-wrong' and trial == 1").index, "quiet"] = True
    page = opened(made)
    total = len(frame)
    assert page.run("document.getElementById('count').textContent") == f"{total} cells"
    failure = frame["failure_class"].value_counts().index[0]
    rates = frame.groupby(["model", "task", "shell"])["passed"].mean().unstack()
    apart = rates.index[rates["bash"] != rates["pwsh"]]
    differs = pd.MultiIndex.from_frame(frame[["model", "task"]]).isin(apart)
    for field, value, chosen in (
        ("result", "passed", frame["passed"]),
        ("result", "failed", ~frame["passed"]),
        ("result", f"class:{failure}", frame["failure_class"] == failure),
        ("made", "mixed", frame["made_of"] == "mixed"),
        ("category", "network-fetch", frame["category"] == "network-fetch"),
        ("model", "qwen-3b", frame["model"] == "qwen-3b"),
        ("shell", "pwsh", frame["shell"] == "pwsh"),
        ("result", "silent", frame["exit_ok"].astype(bool) & ~frame["passed"].astype(bool)),
        ("result", "quiet", frame["quiet"]),
        ("result", "differ", differs),
        ("text", "get-childitem", frame["command"].str.contains("Get-ChildItem")),
    ):
        expected = int(chosen.sum())
        assert 0 < expected < total, field
        assert choose(page, field, value) == f"{expected} of {total} cells", field
        assert page.run("document.querySelectorAll('button.mark:enabled').length") == expected
        choose(page, field, "")
    choose(page, "result", "passed")
    page.run("document.querySelector('button[type=reset]').click()")
    page.wait(f"document.getElementById('count').textContent === '{total} cells'")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_explorer_contrast_of_text(opened, dark):
    page = opened(
        make_explorer(1, 4, 3, states={f"{FIRST}/1": "silent-wrong"}),
        f"{FIRST}/1",
        dark=dark,
        height=3000,
    )
    lowest = page.run(CONTRAST)
    assert lowest["ratio"] >= 4.5, lowest
    ground = page.run("getComputedStyle(document.documentElement).backgroundColor")
    assert (ground == "rgb(13, 17, 23)") is dark


def test_explorer_names_every_state(opened):
    states = ["passed", *FAILURES, "missing", "not_measured"]
    places = {f"{FIRST}/{n}": state for n, state in enumerate(states, 1)}
    page = opened(make_explorer(1, 1, len(states), states=places))
    names = [node["name"] for node in page.accessible("button")]
    for failure in FAILURES:
        said = f"failed: {failure.replace('-', ' ').replace('non zero', 'non-zero')}"
        assert any(said in name for name in names), said
    row = page.run("[...document.querySelectorAll('td')][0].innerText")
    assert set("●×T!∅·–") <= set(row)


@pytest.mark.parametrize("fragment", ["", f"{FIRST}/1", LINE])
def test_explorer_fits_a_phone(opened, fragment):
    long = "find " + "averylongpath/" * 30
    made = make_explorer(1, 3, 5, text=long, states={f"{FIRST}/1": "silent-wrong"})
    page = opened(made, fragment, width=360, height=700)
    assert page.run("document.documentElement.scrollWidth") <= 360
    assert page.run(f"{DIALOG}.scrollWidth") <= 360
    if fragment:
        body = f"{DIALOG}.querySelector('.body')"
        assert page.run(f"{body}.scrollWidth <= {body}.clientWidth")


def test_explorer_of_many_cells_is_fast(write, new_page):
    made = make_explorer(10, 24, 5, scale=12)
    assert len(made.frame) == 2400
    path = write(made)
    assert path.stat().st_size <= 20_000_000
    page = new_page()
    page.open(path)
    assert int(page.run("document.documentElement.dataset.drawnMs")) < 3_000
    started = page.run("performance.now()")
    page.run(f"location.hash = '{FIRST}/3'")
    page.wait(f"{DIALOG}.open")
    assert page.run("performance.now()") - started < 3_000
    assert page.run("document.querySelectorAll('button.mark').length") == 2400
    # A cell's texts are drawn when it is opened.
    assert page.run("document.querySelectorAll('*').length") < 10_000


def test_explorer_states_what_was_left_out(opened):
    made = make_explorer(1, 1, 1, text="x" * 300_000)
    page = opened(made, f"{FIRST}/1")
    gap = page.run(f"{DIALOG}.querySelector('.gap').textContent")
    assert "280,000 characters left out; 300.0 kB in all" in gap
    page = opened(make_explorer(1, 1, 1, text="x"), f"{FIRST}/1")
    shown = page.run(f"{DIALOG}.textContent")
    assert "Standard error, 1 byte" in shown and "1 bytes" not in shown


CONTRAST = """
(() => {
  const numbers = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [.2126, .7152, .0722][at], 0);
  const over = (top, under) => under.map((value, at) => value + (top[at] - value) * top[3]);
  const ground = (node) => node ? over(numbers(getComputedStyle(node).backgroundColor), ground(node.parentElement)) : [255, 255, 255];
  const opacity = (node) => node ? getComputedStyle(node).opacity * opacity(node.parentElement) : 1;
  let lowest = { ratio: 99 };
  for (const node of document.querySelectorAll('*')) {
    const text = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    const box = node.getBoundingClientRect();
    if (!text || !box.width || !opacity(node) || node.closest(':disabled, .vh, script, style, option')) continue;
    const [[r, g, b, alpha], under] = [numbers(getComputedStyle(node).color), ground(node)];
    const [high, low] = [light(over([r, g, b, alpha * opacity(node)], under)), light(under)].sort((x, y) => y - x);
    const ratio = (high + .05) / (low + .05);
    if (ratio < lowest.ratio) lowest = { ratio, text: node.textContent.slice(0, 60), tag: node.tagName, class: node.className };
  }
  return lowest;
})()
"""


def test_explorer_is_deterministic(write, tmp_path):
    first = write(make_explorer(1, 3, 2)).read_bytes()
    assert write(make_explorer(1, 3, 2)).read_bytes() == first
    assert str(tmp_path).encode() not in first


def test_explorer_names_no_other_host(write):
    html = write(make_explorer(1, 2, 1)).read_text()
    outside = re.sub(r'<script type="application/json".*?</script>', "", html, flags=re.DOTALL)
    found = re.findall(r"(?:https?:)?//[\w.-]+\.\w+|url\(|@import|\bsrc=|\bhref=\S+", outside)
    assert found == ['href="report.html">The']
    assert json.loads(re.search(r'id="index">(.*?)</script>', html).group(1))["study"] == "made-up"
