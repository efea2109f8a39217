"""An archive holds its shells' entries; those that this checkout lacks judge and run nothing."""

import pytest
import yaml

from fluency.archive.archived_study import write_opened
from fluency.archive.decision import write_decision
from fluency.archive.pack import entry_file
from fluency.archive.replay import replay_archive
from fluency.archive.unpack import unpacked
from fluency.archive.verify import compare_studies, verified_view, verify, verify_archive
from fluency.common.paths import ENTRIES
from fluency.core.shells import SHELLS, VARIABLE, _Shells
from tests.archive.factory import archived, make, make_study
from tests.archive.hostile import contents, drop, rewritten, verify_forged

SLOW = "(a+)+$"
TASKS = ["stale-lockfiles", "crates-without-readme"]
NAMES = ("bash", "pwsh", "mine")


def entry(**changes):
    stated = yaml.safe_load((ENTRIES / "bash.yaml").read_text(encoding="utf-8"))
    return yaml.safe_dump(stated | {"name": "mine", "title": "Mine 1"} | changes).encode()


def know(monkeypatch, folder):
    """Let this checkout have the private entries of a folder, or none."""
    if folder:
        monkeypatch.setenv(VARIABLE, str(folder))
    else:
        monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(SHELLS, "data", {**_Shells()})


def private(folder, **changes):
    folder.mkdir(exist_ok=True)
    (folder / "mine.yaml").write_bytes(entry(**changes))
    return folder


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """The archive of a study of three shells, one of them private."""
    root = tmp_path_factory.mktemp("three")
    with pytest.MonkeyPatch.context() as patch:
        know(patch, private(root / "private"))
        study = make_study(TASKS, trials=1, shells=[*NAMES], conditions=["as_designed"])
        made = make(
            root / "study",
            study,
            shells=NAMES,
            reply=lambda task, cell: task.references["pwsh" if cell.shell == "pwsh" else "bash"][0],
        )
        return archived(made, root / "out")


def passes(report):
    return {name: {row.passed for row in report.rows if row.shell == name} for name in NAMES}


def test_archive_holds_entries_and_is_proven_where_they_are_known(three, monkeypatch, tmp_path):
    know(monkeypatch, private(tmp_path / "private"))
    held = contents(three)
    assert held["shells/mine.yaml"] == entry()
    assert held["shells/pwsh.yaml"] == (ENTRIES / "pwsh.yaml").read_bytes()
    report = verify_archive(three)
    assert report.exit_code == 0, report.lines()
    assert passes(report) == {name: {True} for name in NAMES}


@pytest.mark.parametrize("here", [None, {"prompt_line": "Another."}, {"syntax_error": "^oops"}])
def test_shell_that_is_not_known_here_is_not_judged(three, here, monkeypatch, tmp_path):
    """Nor is one whose entry is another here; the others are as they were."""
    know(monkeypatch, here and private(tmp_path / "private", **here))
    report = verify_archive(three)
    assert report.exit_code == 3 and not report.altered, report.lines()
    assert [str(one) for one in report.found["NOT CHECKED"]] == [
        "shells/mine.yaml: this checkout has another entry or none, so its cells were not judged; "
        f"{VARIABLE} names the folder of private ones"
    ]
    assert passes(report) == {"bash": {True}, "pwsh": {True}, "mine": {None}}
    with unpacked(three) as files:
        view, _ = verified_view(files)
        assert SHELLS["mine"].title == "Mine 1"
        _, page, _ = write_opened(view, tmp_path / "opened")
    assert "Mine 1" in page.read_text()
    assert ("mine" in SHELLS) == bool(here)
    found = replay_archive(three)
    assert found.exit_code == 3
    assert {one.cell.split("/")[1] for one in found.differences} == {"mine"}
    assert "lacks its shell" in found.differences[0].what


def test_what_reads_an_archive_reads_one_with_a_foreign_shell(three, monkeypatch, tmp_path, capsys):
    know(monkeypatch, None)
    assert verify(three) == 3
    assert compare_studies(str(three), str(three)) == 0
    assert "Mine 1" in write_decision(three, "Shell policy", tmp_path).read_text()
    printed = capsys.readouterr()
    assert "Mine 1" in printed.out and "NOT CHECKED" in printed.err


def test_foreign_entry_compiles_no_pattern_and_quotes_no_sentence(three, monkeypatch, tmp_path):
    know(monkeypatch, None)
    hostile = entry(
        **dict.fromkeys(("missing_command", "syntax_error"), SLOW),
        **dict.fromkeys(("unix_programs_note", "install_hint", "policy"), "<script>"),
        lexer="no such lexer",
    )
    made = rewritten(three, tmp_path, put_entry("mine", hostile))
    with unpacked(made) as files:
        view, _ = verified_view(files)
        shell = SHELLS["mine"]
        assert SLOW not in shell.facts.values() and "<script>" not in shell.facts.values()
        written = write_opened(view, tmp_path / "opened")[1:]
    assert not any("&lt;script" in page.read_text() for page in written)


def put_entry(name, data):
    return lambda files: files.update({entry_file(name): data})


BAD = {
    "a title with markup": (put_entry("mine", entry(title="<b>x</b>")), "not a shell's entry"),
    "two lines": (put_entry("mine", entry(title="x\n\n# y")), "not a shell's entry"),
    "another name": (put_entry("mine", entry(name="other")), "not a shell's entry"),
    "not YAML": (put_entry("mine", b"{"), "not a shell's entry"),
    "an alias": (put_entry("mine", b"a: &a [x]\nb: *a\n"), "it holds an alias"),
    "too large": (put_entry("mine", b"#" * (1 << 20)), "it is larger than"),
    "of no arm": (put_entry("zsh", entry(name="zsh")), "shells are not the study's"),
    "in a folder": (put_entry("more/bash", entry(name="bash")), "shells are not the study's"),
    "lacking": (drop("shells/mine.yaml"), "unknown shell 'mine'"),
}


@pytest.mark.parametrize("change, said", BAD.values(), ids=[*BAD])
def test_entry_of_an_archive_is_refused(change, said, three, monkeypatch, tmp_path):
    know(monkeypatch, None)
    report = verify_forged(three, tmp_path, change)
    assert report.exit_code == 1 and said in str(report.altered[0]), report.lines()


def test_edited_public_entry_is_altered_where_the_commit_is_known(stated_archive, at, tmp_path):
    """Its prompts would fit, and its cells would not be judged."""
    stated = yaml.safe_load((ENTRIES / "bash.yaml").read_text())
    edited = put_entry("bash", yaml.safe_dump(stated | {"tool_name": "sh"}).encode())
    made = rewritten(stated_archive, tmp_path, edited)
    for name, code in {"own": 1, "later": 3, "without git": 3}.items():
        at(name)
        assert verify_archive(made).exit_code == code, name
    assert verify_archive(stated_archive).exit_code == 0


def test_archive_without_entries_is_read_by_this_checkouts(archive, tmp_path):
    """As those from before archives held them."""
    older = rewritten(archive, tmp_path, *map(drop, map(entry_file, NAMES[:2])))
    assert verify_archive(older).exit_code == 0
