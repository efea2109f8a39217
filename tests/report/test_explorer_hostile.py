"""Nothing a model wrote may run, load, hide or pretend, in any field."""

from urllib.parse import quote, urlencode

import pytest

from fluency.core.shells import DESIGN_SHELLS
from tests.report.explorer_factory import make_explorer
from tests.report.hostile import CANARY, HOSTILE, MARKUP, RIGHT_TO_LEFT, WITH_NUL

OURS = {
    "HTML", "HEAD", "META", "TITLE", "STYLE", "BODY", "HEADER", "H1", "H2", "H3", "H4", "SPAN", "P", "MAIN", "FORM", "LABEL", "INPUT",
    "SELECT", "OPTION", "OPTGROUP", "BUTTON", "OUTPUT", "UL", "LI", "DIV", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD", "KBD", "CODE",
    "DIALOG", "SCRIPT", "NAV", "PRE", "DL", "DT", "DD", "SECTION", "DETAILS", "SUMMARY", "NOSCRIPT", "A",
}  # fmt: skip
LINES = ["qwen-0.5b/crate-versions-1", "qwen-0.5b/stale-lockfiles-0"]  # by name, as nothing differs
PATHS = [
    f"qwen-0.5b/{shell}/{task}/1"
    for shell in DESIGN_SHELLS
    for task in ("stale-lockfiles-0", "crate-versions-1")
]


@pytest.mark.parametrize(
    "state, view", [("silent-wrong", "cell"), ("format", "cell"), ("silent-wrong", "task")]
)
def test_explorer_shows_hostile_fields_as_text(write, new_page, state, view):
    made = make_explorer(1, 2, 1, text=WITH_NUL, states=dict.fromkeys(PATHS, state))
    page = new_page(height=2000)
    path = write(made)
    page.open(path, f"{PATHS[2] if view == 'cell' else LINES[1]}?{urlencode({'text': HOSTILE})}")
    page.run("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert page.run("document.getElementById('cell').open")
    assert page.run("window.canary") is None
    tags = page.run("[...document.querySelectorAll('*')].map((e) => e.tagName)")
    assert set(tags) <= OURS
    active = "[style],[onerror],[onload],[src],[srcdoc],[action]"
    assert page.run(f"document.querySelectorAll('{active}').length") == 0
    links = page.run("[...document.querySelectorAll('[href]')].map((e) => e.getAttribute('href'))")
    neighbours = [PATHS[0], LINES[1]] if view == "cell" else [PATHS[0], PATHS[2]]
    assert links == ["report.html", *(f"#{place}" for place in (*LINES, *neighbours))]
    assert page.run("document.querySelectorAll('script').length") == 3
    shown = page.run("document.getElementById('cell').textContent")
    # Command, its outcome, why, each stream, the expected answer, the notes, the provenance: all show it whole.
    for line in MARKUP:
        assert shown.count(line) >= (10 if view == "cell" else 4), line
    assert page.run("getComputedStyle(document.querySelector('#cell pre')).display") == "block"
    if view == "cell":
        marks = page.run("[...document.querySelectorAll('#cell .ctl')].map((e) => e.textContent)")
        unseen = {"U+202E", "U+2028", "U+200B", "U+FEFF", "U+E0041", "␛", "␀", "␍", "U+009B"}
        assert unseen <= set(marks)
    shown = page.run("document.getElementById('cell').innerText")
    assert RIGHT_TO_LEFT not in shown and "\x1b" not in shown


def test_explorer_ignores_a_hostile_address(write, new_page):
    path = write(make_explorer(1, 1, 1))
    hostile = f"a?{urlencode({'text': HOSTILE})}"
    for address in (quote(MARKUP[6]), "__proto__", "%E0%A4%A", f"javascript:{CANARY}", hostile):
        page = new_page()
        page.open(path, address)
        assert not page.run("document.getElementById('cell').open")
        assert "This study has no cell" in page.run("document.getElementById('count').textContent")
        assert page.run("window.canary") is None


def test_canary_detects_a_run_script(tmp_path, new_page):
    """The control: the same texts as markup do run, so silence above means something."""
    path = tmp_path / "control.html"
    for text in MARKUP[:3]:
        path.write_text(f"<!doctype html><html data-ready-ms=0><body>{text}</body></html>")
        page = new_page()
        page.open(path)
        page.wait("window.canary === 1")


def test_explorer_policy_stops_injected_markup(write, browser):
    """The second wall: even if the page's own escaping failed, no script, style or request of the text would run."""
    path = write(make_explorer(1, 1, 1))
    html = path.read_text()
    markup = "".join(MARKUP[:1] + MARKUP[6:8] + MARKUP[11:15])
    path.write_text(html.replace("<main>", f"<main>{markup}", 1))
    page = browser.page()
    page.open(path)
    page.run("setTimeout(() => {}, 50)")
    assert page.run("window.canary") is None
    assert page.run("getComputedStyle(document.body).display") == "block"
    assert any("Content Security Policy" in trouble for trouble in page.troubles())
    # In a separate task: what the protocol evaluates directly is exempt from the policy.
    write_it = "try { document.body.innerHTML = '<b>x</b>'; done('ran'); }"
    attempt = (
        f"(done) => setTimeout(() => {{ {write_it} catch (error) {{ done(`${{error}}`); }} }})"
    )
    assert "TrustedHTML" in page.run(f"new Promise({attempt})")
    page.close()
