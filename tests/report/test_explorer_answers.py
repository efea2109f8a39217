"""The explorer answers first: rates before cells, large gaps first, and in a failed cell what differs before the rest."""

import csv
import io

import pytest

from fluency.analysis.study_analysis import analyse
from fluency.core.shells import DESIGN_SHELLS
from fluency.report.explorer import page_header
from fluency.report.marks import FAILURES
from tests.report.explorer_factory import COMMANDS, make_explorer
from tests.report.test_explorer_use import DIALOG, FIRST

PASSES = {
    "stale-lockfiles-0": (0, 0),
    "crate-versions-1": (3, 2),
    "worker-queues-2": (3, 0),
    "stale-lockfiles-4": (3, 3),
    "fetch-top-crates-3": (0, 3),
}
"""Task -> trials of three that pass in Bash and in PowerShell, for qwen-3b; qwen-0.5b passes nothing."""
GRADED = {
    f"{model}/{shell}/{task}/{trial}": "passed"
    if model == "qwen-3b" and trial <= passes
    else "silent-wrong"
    for model in ("qwen-0.5b", "qwen-3b")
    for task, both in PASSES.items()
    for shell, passes in zip(DESIGN_SHELLS, both, strict=True)
    for trial in (1, 2, 3)
}
CELL = "qwen-3b/pwsh/worker-queues-2/1"
LONG = "Get-ChildItem -Recurse | Where-Object Name -NotMatch 'x' | " * 60
HELPERS = """
  const all = (selector) => [...document.querySelectorAll(selector)];
  const top = (selector) => Math.round(all(selector)[0].getBoundingClientRect().top);
  const texts = (selector) => all(selector).map((node) => node.textContent);
  const lines = (node) => { const range = new Range(); range.selectNodeContents(node); return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size; };
"""

SHOWN = {
    "": {
        "top('.rates') < top('#cells')": True,
        "texts('#cells .model th').map((text) => text.slice(0, 7))": ["qwen-0.", "qwen-3b"],
        "texts('#cells a.task').slice(5)": [
            "fetch-top-crates-3", "worker-queues-2", "crate-versions-1", "stale-lockfiles-4", "stale-lockfiles-0",
        ],
        "texts('#cells .points').slice(5)": ["+100", "\u2212100", "\u221233", "0", "0"],
        "all('a[href=\"report.html\"]').length": 1,
    },
    "?order=name": {"texts('#cells a.task').slice(0, 5)": sorted(PASSES)},
    "?text=crate-versions": {"[...CSS.highlights.get('hit')].map(String)": ["crate-versions"] * 2},
    CELL: {
        "innerHeight - top('#cell .diff tr') >= 60": True,
        "top('#cell .command') < top('#cell .diff')": True,
        "texts('#cell details[open] > summary')": [],
        "texts('#cell .body > details > summary')": ["Prompt", "Answer and score", "Provenance"],
        "top('#cell .body > details') < top('#cell .run')": True,
        "all('#cell .command :is(.tok-f, .tok-k)').filter((token) => lines(token) !== 1).length": 0,
    },
    f"{CELL}?text=-recurse | where": {
        "[...CSS.highlights.get('hit')].map(String).slice(0, 2)": ["-Recurse | Where"] * 2
    },
    "qwen-3b/worker-queues-2": {
        "top('#cell pre') < top('#cell .command') && texts('#cell pre')[0].includes('Task 2')": True,
        "texts('#cell .body > .note')[0].startsWith('PowerShell 7: Solve this')": True,
    },
}  # fmt: skip
"""Address -> what a script finds on the page, and what it is to find."""


@pytest.mark.parametrize("width", [1280, 390], ids=["desktop", "phone"])
def test_explorer_layout(write, new_page, monkeypatch, width):
    monkeypatch.setitem(COMMANDS, "pwsh", [LONG])
    path = write(make_explorer(2, 5, 3, states=GRADED))
    for fragment, shown in SHOWN.items():
        page = new_page(width=width, height=800)
        page.open(path, fragment)
        found = page.run(f"(() => {{ {HELPERS} return [{', '.join(shown)}]; }})()")
        assert found == [*shown.values()], fragment


def test_explorer_header_equals_the_report(opened):
    made = make_explorer(2, 5, 3, states=GRADED)
    page = opened(made, rates=True)
    header = page_header(analyse(made.frame, made.study, made.tasks))
    _, *rates = header["rates"]
    said = "document.querySelector('.decides').textContent"
    assert page.run(said) == header["verdict"] != ""
    cells = "[...document.querySelectorAll('.rates tbody td')].map((cell) => cell.textContent)"
    shown = page.run(cells)
    assert shown == [*rates[0][1:], *rates[1][1:]] and rates[0][0] == "qwen-0.5b"
    assert shown[5:7] == ["60.0 % (9/15)", "53.3 % (8/15)"]
    failures = page.run(
        "[...document.querySelectorAll('.failures tbody tr')].map("
        "(row) => [...row.cells].map((cell) => cell.textContent))"
    )
    failed = made.frame[made.frame["passed"].eq(False).fillna(False)]
    counts = failed.groupby(["model", "failure_class", "shell"]).size()
    assert failures and failures == [
        [name, FAILURES[name][1], *(str(counts.get((model, name, s), 0)) for s in DESIGN_SHELLS)]
        for model in dict.fromkeys(made.frame["model"])
        for name in FAILURES
        if name in set(failed["failure_class"][failed["model"] == model])
    ]
    page.run("[...document.querySelectorAll('.failures a')].at(-1).click()")
    model, name = [*dict.fromkeys(failed["model"])][-1], failures[-1][0]
    page.wait("document.getElementById('count').textContent.includes(' of ')")
    shown = page.run("[...document.querySelectorAll('#cells button.mark:not(:disabled)')].length")
    assert shown == len(failed[(failed["failure_class"] == name) & (failed["model"] == model)])


def test_explorer_csv_holds_filtered_cells_and_no_formula(opened):
    states = {
        f"qwen-0.5b/{shell}/stale-lockfiles-0/{number}": kind
        for shell in DESIGN_SHELLS
        for number, kind in ((1, "silent-wrong"), (2, "passed"))
    }
    made = make_explorer(1, 1, 2, text='=cmd|"x"', states=states)
    page = opened(made, "?result=class%3Asilent-wrong")
    page.run("URL.createObjectURL = (blob) => { window.saved = blob; return '#'; }")
    page.run("HTMLAnchorElement.prototype.click = () => {}")
    page.run("document.getElementById('save').click()")
    page.wait("window.saved !== undefined")
    rows = list(csv.DictReader(io.StringIO(page.run("window.saved.text()"))))
    assert [row["shell"] for row in rows] == [*DESIGN_SHELLS]
    assert {row["failure"] for row in rows} == {"silent-wrong"}
    assert {row["command"] for row in rows} == {'\'=cmd|"x"'}


def test_explorer_copies_the_command(opened, browser):
    command = "find . -name 'a\u202eb' |\n  sort"
    page = opened(make_explorer(1, 1, 1, text=command), f"{FIRST}/1")
    permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    browser.call("Browser.grantPermissions", permissions=permissions)
    page.run(f"{DIALOG}.querySelector('button.copy').click()")
    page.wait(f"{DIALOG}.querySelector('button.copy').textContent === 'Copied'")
    assert page.run("navigator.clipboard.readText()") == command
