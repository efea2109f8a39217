"""Links, commands and quoted messages of the pages exist; the site opens without a network."""

import importlib.util
import itertools
import os
import re
import shlex
import sys
import tomllib
from functools import cache
from urllib.parse import unquote

import pytest
import yaml
from click import ClickException
from markdown_it import MarkdownIt

from fluency import __version__ as fluency_version
from fluency.cli import fluency
from fluency.common.paths import ROOT
from fluency.core.shells import SHELLS, Shell
from fluency.core.study import Study, read_study
from fluency.core.tasks import Task, task_sets
from fluency.export import FORMATS, export_archive
from tests.programs import completed

PAGES = sorted([*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md"), ROOT / "config/README.md"])
OWN = {"config/mine.yaml", "config/whole.yaml", "config/other.yaml", "study.json"}
OWN |= {"prices/policies.yaml", "candidates/01-which-files-set-a-timeout.yaml"}
"""Examples of a reader's own files, and a file of archives."""
PINNED = {
    archive.file.format(architecture=architecture)
    for shell in SHELLS.values()
    if (archive := shell.install.archive)
    for architecture in archive.sha256
}
CODE = ("code_inline", "fence", "code_block")
PYTHONS = ["3.11", "3.14"]
"""The oldest and the newest that work."""
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
MAKE = r"""(?:^|[\s(])make ((?!-)[a-z-]+)((?: [A-Z]+=(?:".*?"|\S+))*)"""
each_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))


@cache
def blocks(path):
    return MarkdownIt("commonmark").enable("table").parse(path.read_text())


def tokens(path):
    return (token for block in blocks(path) for token in (block, *(block.children or ())))


def anchors(path):
    """Anchors of a page's headings: lower case, hyphens for blanks, no other signs."""
    found = set()
    for before, token in itertools.pairwise(blocks(path)):
        if before.type == "heading_open":
            parts = [part for part in token.children or () if part.type in ("text", "code_inline")]
            text = "".join(part.content for part in parts).lower().strip()
            found.add(re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", text)))
    return found


def links(path):
    for token in tokens(path):
        target = token.attrs.get("href") if token.type == "link_open" else token.attrs.get("src")
        if isinstance(target, str) and token.type in ("link_open", "image"):
            yield unquote(target)
        if token.type in ("html_block", "html_inline"):
            yield from re.findall(r'(?:src|href)="([^"]+)"', token.content)


def code(path):
    """The code on a page, with continued lines joined."""
    for token in tokens(path):
        if token.type in CODE:
            yield token.content.replace("\\\n", " ")


def test_pages_stay_short():
    """In words: README, and what is written by hand in docs/, not between two marks."""
    made = re.compile(r"<!-- ([\w ]+): begin -->.*?<!-- \1: end -->", re.S)
    texts = {path: path.read_text() for path in PAGES}
    by_hand = (made.sub("", text) for path, text in texts.items() if path.parent == ROOT / "docs")
    assert len(texts[ROOT / "README.md"].split()) <= 750
    assert sum(len(text.split()) for text in by_hand) <= 18_000


def test_page_begins_with_its_readers():
    """Except the front page, which asks its question first, and the list of changes."""
    pages = [path for path in PAGES if "--8<--" not in path.read_text()]
    others = [path.name for path in pages if not blocks(path)[4].content.startswith("For ")]
    assert others == ["CHANGELOG.md", "README.md"]


@each_page
def test_page_links_to_files_and_anchors_that_exist(path):
    for target in links(path):
        if re.match(r"[a-z]+:|\.\./\.\./actions/", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        assert file.exists(), f"{target}: the file does not exist"
        assert not anchor or file.suffix != ".md" or anchor in anchors(file), (
            f"{target}: the heading does not exist"
        )


@each_page
def test_page_names_files_that_exist(path):
    for text in code(path):
        for line in re.findall(r"(?:^|[\s(])make [a-z].*", text):
            assert set(re.findall(r"FORMAT=(\w+)", line)) <= FORMATS.keys() | {"inspect"}, line
        assert {*re.findall(r"powershell-\d\S+\.tar\.gz", text)} <= PINNED, text
        for module in re.findall(r"python3? -m ([\w.]+)", text):
            assert importlib.util.find_spec(module), f"python -m {module}"
        for file in re.findall(
            r"(?<![\w/<])(?:(?:config|docs|scripts|tests|tools|envs|sandbox|example)/[\w./-]+\.\w+"
            r"|[\w/-]+/[\w-]+\.(?:py|yaml))",
            text,
        ):
            places = (ROOT / file, ROOT / "scripts/fluency" / file)
            assert file in OWN or any(place.exists() for place in places), file


@each_page
def test_page_names_keys_that_exist(path):
    """`key: value` is of a study, a task or a shell; the miner's `draft: true` is refused on purpose."""
    schemas = [model.model_json_schema() for model in (Study, Task, Shell)]
    parts = [part for schema in schemas for part in (schema, *schema["$defs"].values())]
    known = {"draft"}.union(*(part.get("properties", {}) for part in parts))
    assert {key for text in code(path) for key in re.findall(r"^([a-z_]+): ", text, re.M)} <= known


def calls(path):
    """Each call of `fluency` that a page names, or that its command of make runs."""
    archive = str(next((ROOT / "example").glob("*.tar.zst")))
    makefile = (ROOT / "Makefile").read_text()
    for line in (line for text in code(path) for line in text.splitlines()):
        if line.startswith("fluency ") and "--help" not in line:
            yield line.replace("FILE", archive).replace("decision.md", "LICENSE")
        for target, given in re.findall(MAKE, line):
            values = dict(word.split("=", 1) for word in shlex.split(given))
            taken = re.search(rf"^{target}:.*", makefile, re.M)
            names = {"A", "B", *(["ARCHIVE"] if "CONFIG" not in values else [])}
            values |= {
                name: archive for name in names if taken and re.search(rf"\b{name}=", taken[0])
            }
            if values.get("CONFIG", "") in OWN or "…" in values.get("CONFIG", ""):
                values["CONFIG"] = "config/study.yaml"
            settings = [f"{name}={value}" for name, value in values.items()]
            dry = completed("make", "--no-print-directory", "-n", target, *settings)
            for recipe in dry.stdout.replace("\\\n", " ").splitlines():
                if recipe.startswith("fluency "):
                    yield "".join(f"{k}={shlex.quote(v)}; " for k, v in values.items()) + recipe


@each_page
def test_page_commands_have_options_that_exist(path):
    """`fluency` parses what bash passes to it."""
    for call in calls(path):
        words = re.sub(r"\bfluency ", "printf '%s\\\\0' ", call, count=1)
        name, *given = completed("bash", "-c", words).stdout.split("\0")[:-1]
        fluency.commands[name].make_context(name, given)


def test_start_page_shows_cell_of_the_demo():
    (cell,) = re.findall(r"CELL=(\S+)", (ROOT / "docs/index.md").read_text())
    study = read_study(ROOT / "config/demo.yaml")
    assert cell in {each.path for each in study.cells(task_sets()[study.tasks].tasks)}


def test_data_page_prints_rates_of_the_report(tmp_path):
    page, readme = ROOT / "docs/data.md", (ROOT / "README.md").read_text()
    (program,) = [token.content for token in blocks(page) if token.info == "python"]
    (archive,) = (ROOT / "example").glob("*.tar.zst")
    export_archive(archive, "csv", tmp_path / "exports/example/csv")
    printed = completed(sys.executable, "-c", program, cwd=tmp_path).stdout
    table = re.findall(r"^\| (qwen\S+) +\|\D+(\S+) .*?\|\D+(\S+) .*?\| +(\S+)", readme, re.M)
    rows = [[*row[:3], row[3].replace("\N{MINUS SIGN}", "-")] for row in table]
    assert [line.split() for line in printed.splitlines()[2:]] == rows and len(rows) == 2


def test_readmes_state_numbers_of_the_report():
    report, readme, page = (
        " ".join((ROOT / name).read_text().split())
        for name in ("example/report.md", "README.md", "example/README.md")
    )
    quiet = r"Quiet \S+ \S+ of \S+: (\d+)\.0 %.*? (\d+)\.0 %.*?, (.\d+\.\d) points \((.*?)\)"
    (bash, pwsh, gap, ends), larger = re.findall(quiet, report)
    rates = re.findall(r"passed (\d+)\.0 % in Bash and (\d+)\.0 % in PowerShell", report)[:2]
    passed = "a 0.5B model passed {} % in Bash and {} % in PowerShell, a 1.5B model {} % and {} %"
    assert passed.format(*rates[0], *rates[1]) in readme
    said = "printed something wrong with status 0 and nothing on standard error"
    assert f"{bash} % in Bash and {pwsh} % in PowerShell {said} ({gap} points, {ends})" in readme
    assert ("not the official release's build" in report) == ("not the official build" in readme)
    assert f"{gap} points ({ends})" in page and "{} and {}: {} ({})".format(*larger) in page


@pytest.mark.parametrize(
    "check, fault",
    [
        (test_page_commands_have_options_that_exist, "`make nothing`"),
        (test_page_commands_have_options_that_exist, "`fluency verify FILE --loud`"),
        (test_page_commands_have_options_that_exist, "`make run WHAT=1`"),
        (test_page_names_files_that_exist, "`make export FORMAT=vellum`"),
        (test_page_names_files_that_exist, "`config/absent.yaml`"),
        (test_page_names_files_that_exist, "`core/absent.py`"),
        (test_page_names_files_that_exist, "`powershell-7.0.0-linux-x64.tar.gz`"),
        (test_page_names_keys_that_exist, "`private: true`"),
        (test_page_links_to_files_and_anchors_that_exist, "[a](absent.md)"),
    ],
)
def test_page_check_notices_fault(check, fault, tmp_path):
    (tmp_path / "page.md").write_text(f"# Page\n\n{fault}\n")
    with pytest.raises((AssertionError, KeyError, ClickException)):
        check(tmp_path / "page.md")


def test_troubleshooting_quotes_messages_of_the_code():
    """`…` replaces what varies, and f-strings are read as written."""
    sources = [path for kind in ("py", "yaml", "sh") for path in ROOT.glob(f"scripts/**/*.{kind}")]
    said = re.sub(r'"\s*\n\s*f?"', "", "\n".join(path.read_text() for path in sources))
    page = (ROOT / "docs/troubleshooting.md").read_text()
    quoted = [
        text
        for row in re.findall(r"^\| (.*?) \|", page, re.M)
        for text in re.findall(r"`([^`]+)`", row)
    ]
    parts = [part for text in quoted for part in re.split("…|: |[0-9]+ ", text)]
    assert {"unknown key", "the disk is full"} <= set(quoted), "the table is read"
    assert [part for part in parts if part.strip(" .") and part.strip() not in said] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    completed(*command, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    return folder


def test_site_has_every_heading_of_every_page_in_four_parts(site):
    parts = [next(iter(part)) for part in yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]]
    assert parts == ["Start", "How to", "Reference", "Why"]
    pages = {path.stem: anchors(path) for path in (ROOT / "docs").glob("*.md")}
    shown = {path.stem: path.read_text() for path in site.glob("*.html")}
    assert shown.keys() == pages.keys() | {"404"}
    for name, headings in pages.items():
        assert headings <= {*re.findall(r'id="([^"]+)"', shown[name])}, name


def test_site_loads_nothing_from_outside(site):
    loads = re.compile(
        r"""<(?:script|img|iframe|source)\b[^>]*?src="?(https?:|//)[^>]*>"""
        r"""|<link\b(?![^>]*rel="?canonical)[^>]*href="?(?:https?:|//)[^>]*>"""
        r"""|(?:url\(|@import)\s*["']?(?:https?:|//)"""
    )
    for path in [*site.rglob("*.html"), *site.rglob("*.css")]:
        found = loads.search(path.read_text())
        assert not found, f"{path.name}: {found}"


def test_pre_commit_hooks_are_the_parts_of_lint():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    (repository,) = hooks["repos"]
    assert repository["repo"] == "local", "nothing is fetched"
    entries = [hook["entry"].removeprefix(".venv/bin/") for hook in repository["hooks"]]
    (lint,) = re.findall(r"^lint:.*\n\t@(.*)$", MAKEFILE, re.M)
    assert entries == [part.strip().removesuffix(" .") for part in lint.split("&&")]


def test_workflows_run_what_everybody_can_run():
    """Each step is a target of make or a script of .ci; the quick job comes first."""
    jobs = {}
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        jobs |= yaml.safe_load(path.read_text())["jobs"]
    for step in (step for job in jobs.values() for step in job["steps"] if "run" in step):
        program, name = step["run"].split()
        assert name in TARGETS if program == "make" else (ROOT / name).is_file()
    assert jobs["full"]["needs"] == "quick"
    assert jobs["quick"]["strategy"]["matrix"]["python"] == PYTHONS


def test_every_place_names_the_same_pythons():
    oldest, newest = PYTHONS
    for page in ("README.md", "CONTRIBUTING.md", "docs/index.md", "scripts/bootstrap.sh"):
        said = re.findall(r"Python (3\.\d+) to (3\.\d+)", (ROOT / page).read_text())
        assert set(said) == {(oldest, newest)}, page
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bound = int(newest.partition(".")[2]) + 1
    assert project["requires-python"] == f">={oldest},<3.{bound}"
    bootstrap = (ROOT / "scripts/bootstrap.sh").read_text()
    assert f"python{newest} " in bootstrap and f"(3, {bound})" in bootstrap


def test_citation_names_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == fluency_version
    assert citation["date-released"].year >= 2026
