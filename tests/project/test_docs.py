"""Every link of the pages leads somewhere, every command in them is one, and the site builds and opens without a network."""

import importlib.util
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from fluency.cli import fluency
from fluency.common.paths import ROOT
from fluency.export import FORMATS

PAGES = sorted(
    [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md"), *(ROOT / name for name in ("config/README.md",))]
)  # fmt: skip
OWN = {"config/mine.yaml", "config/whole.yaml", "config/other.yaml"}
"""Files that stand for the reader's own."""
CODE = ("code_inline", "fence", "code_block")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
VARIABLES = set(re.findall(r"\$[{(]+(?:if )?(?:\$\()?(?:filter \w+,\$\()?([A-Z_]+)", MAKEFILE))
VARIABLES |= {"POWERSHELL_ARCHIVE", "POWERSHELL_URL"}
MODULES = {"venv", "pip"}
"""Python's own."""


def named(paths: list[Path]) -> list:
    return [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in paths]


@cache
def tokens(path: Path) -> list[Token]:
    parsed = MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))
    return [token for block in parsed for token in (block, *(block.children or ()))]


@cache
def anchors(path: Path) -> set[str]:
    """Those of a page's headings: lower case, blanks to hyphens, without other signs, as forges and MkDocs make them."""
    found = set()
    flat = MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))
    for before, token in itertools.pairwise(flat):
        if before.type == "heading_open":
            text = "".join(
                part.content
                for part in token.children or ()
                if part.type in ("text", "code_inline")
            )
            found.add(re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", text.lower()).strip()))
    return found


def links(path: Path) -> Iterator[str]:
    for token in tokens(path):
        target = token.attrs.get("href") if token.type == "link_open" else token.attrs.get("src")
        if isinstance(target, str) and token.type in ("link_open", "image"):
            yield unquote(target)
        if token.type in ("html_block", "html_inline"):
            yield from re.findall(r'(?:src|href)="([^"]+)"', token.content)


def code(path: Path) -> Iterator[str]:
    """What stands in a page as code, with continued lines joined."""
    for token in tokens(path):
        if token.type in CODE:
            yield token.content.replace("\\\n", " ")


@pytest.mark.parametrize("path", named(PAGES))
def test_every_link_within_the_project_leads_to_a_file_and_an_anchor(path):
    for target in links(path):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        assert file.exists(), f"{target}: there is no such file"
        assert not anchor or file.suffix != ".md" or anchor in anchors(file), (
            f"{target}: there is no such heading"
        )


@pytest.mark.parametrize("path", named([page for page in PAGES if page.name != "CHANGELOG.md"]))
def test_every_command_on_a_page_is_one(path):
    """Not of the changelog: it may name a command that a release removed."""
    for text in code(path):
        for target in re.findall(r"(?:^|[\s(`;&|])make ((?!-)[a-z][\w-]*)\b", text):
            assert target in TARGETS, f"make {target}"
        for line in re.findall(r"(?:^|[\s(])make [a-z].*", text):
            assert set(re.findall(r"\b([A-Z][A-Z_]+)=", line)) <= VARIABLES, line
            assert set(re.findall(r"FORMAT=(\w+)", line)) <= FORMATS.keys() | {"inspect", "name"}, (
                line
            )
        for word in re.findall(r"(?:^|\s)fluency ([a-z]+)\b", text):
            assert word in fluency.commands, f"fluency {word}"
        for module in re.findall(r"python3? -m ([\w.]+)", text):
            assert module in MODULES or importlib.util.find_spec(module), f"python -m {module}"
        for file in re.findall(r"(?<![\w/])config/[\w.-]+\.ya?ml", text):
            assert file in OWN or (ROOT / file).is_file(), file
        for file in re.findall(
            r"(?<![\w/<])(?:docs|scripts|tests|tools|envs|sandbox|example)/[\w./-]+\.\w+", text
        ):
            assert (ROOT / file).exists(), file


def test_a_page_with_each_fault_is_noticed(tmp_path, monkeypatch):
    """The two tests above, held against a page that holds one of each."""
    page = tmp_path / "page.md"
    faults = ("`make nothing`", "`make run WHAT=1`", "`fluency sing`", "`python -m fluency.none`", "`config/absent.yaml`",
              "`docs/absent.md`", "`make export FORMAT=vellum`")  # fmt: skip
    for fault in faults:
        page.write_text(f"# Page\n\n{fault}\n")
        tokens.cache_clear()
        with pytest.raises(AssertionError):
            test_every_command_on_a_page_is_one(page)
    for fault in (
        "[a](absent.md)",
        "[a](page.md#absent)",
        "[a](#absent)",
        '<img src="absent.png">',
    ):
        page.write_text(f"# Page\n\n{fault}\n")
        tokens.cache_clear(), anchors.cache_clear()
        with pytest.raises(AssertionError):
            test_every_link_within_the_project_leads_to_a_file_and_an_anchor(page)


def test_every_message_that_is_explained_is_one():
    """docs/troubleshooting.md quotes what the code says; `…` stands for what varies, and f-strings are read as written."""
    sources = [*(ROOT / "scripts").rglob("*.py"), *(ROOT / "scripts").glob("*.sh")]
    said = re.sub(
        r'"\s*\n\s*f?"', "", "\n".join(path.read_text(encoding="utf-8") for path in sources)
    )
    page = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
    quoted = [
        text
        for row in re.findall(r"^\| (.*?) \|", page, re.M)
        for text in re.findall(r"`([^`]+)`", row)
    ]
    parts = [part for text in quoted for part in re.split("…|: |[0-9]+ ", text) if part.strip(" .")]
    assert len(quoted) > 50 and [part for part in parts if part.strip() not in said] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environ = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environ)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_builds_strictly_in_four_parts_with_every_page(site):
    parts = [next(iter(part)) for part in yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]]
    assert parts == ["Start", "How to", "Reference", "Why"]
    assert {path.stem for path in site.glob("*.html")} == {
        path.stem for path in (ROOT / "docs").glob("*.md")
    } | {"404"}
    index = (site / "index.html").read_text(encoding="utf-8")
    assert all(part in index for part in parts)


def test_the_site_takes_nothing_from_outside(site):
    loads = re.compile(
        r'<(?:script|img|iframe|source)\b[^>]*?src="?(https?:|//)[^>]*>|<link\b(?![^>]*rel="?canonical)[^>]*href="?(?:https?:|//)[^>]*>'
    )
    for page in site.rglob("*.html"):
        assert not (found := loads.search(page.read_text(encoding="utf-8"))), (
            f"{page.name}: {found}"
        )
    for style in site.rglob("*.css"):
        assert not re.search(
            r"(?:url\(|@import)\s*[\"']?(?:https?:|//)", style.read_text(encoding="utf-8")
        ), style.name


def test_the_site_lists_every_command_of_the_makefile(site):
    page = (site / "commands.html").read_text(encoding="utf-8")
    described = re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.M)
    assert len(described) > 25 and all(f"<code>make {name}</code>" in page for name in described)


def test_the_tests_that_need_powershell_are_those_that_are_listed():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = re.findall(
        r"- `(\S+)`",
        text.split("<!-- pwsh tests: begin -->")[1].split("<!-- pwsh tests: end -->")[0],
    )
    marked = [
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if "mark.pwsh" in path.read_text(encoding="utf-8")
    ]
    here = Path(__file__)
    assert listed == sorted(path.relative_to(ROOT).as_posix() for path in marked if path != here)


def test_the_hooks_before_a_commit_are_the_parts_of_lint():
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))[
        "repos"
    ]
    assert repository["repo"] == "local", "nothing is fetched"
    entries = [hook["entry"].removeprefix(".venv/bin/") for hook in repository["hooks"]]
    (lint,) = re.findall(r"^lint:.*\n\t@(.*)$", MAKEFILE, re.M)
    assert entries == [part.strip().removesuffix(" .") for part in lint.split("&&")]
    assert all(hook["language"] == "system" for hook in repository["hooks"])


def test_a_hosted_ci_runs_what_everybody_runs():
    text = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    (job,) = yaml.safe_load(text)["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == ["bash .ci/run"] and (
        ROOT / ".ci/run"
    ).is_file()


def test_the_devcontainer_builds_and_makes_what_is_there():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    assert (ROOT / ".devcontainer" / container["build"]["dockerfile"]).is_file()
    for target in re.findall(r"make ([a-z]+)", container["postCreateCommand"]):
        assert target in TARGETS
