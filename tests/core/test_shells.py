"""Entries of shells: the private ones, and the error of a bad one."""

import os
from pathlib import Path

import pytest

from fluency.common.errors import UserError
from fluency.common.paths import ENTRIES
from fluency.core.shells import DESIGN_SHELLS, SHELLS, VARIABLE, _Shells, read_shell

GOOD = (ENTRIES / "bash.yaml").read_text(encoding="utf-8").replace("name: bash", "name: mine", 1)


@pytest.fixture
def entry(tmp_path, monkeypatch):
    """Writes an entry, and reads all entries with it."""
    assert DESIGN_SHELLS[0] in SHELLS  # read without it
    monkeypatch.setenv(VARIABLE, str(tmp_path))

    def read(text=GOOD, name="mine.yaml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return {**_Shells()}

    return read


def test_private_entry_follows_the_projects(entry):
    assert [*entry()] == [*SHELLS, "mine"]


def test_private_folder_in_the_project_is_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, str(ENTRIES))
    with pytest.raises(UserError, match="no folder of private shells here, outside the project"):
        {**_Shells()}


ARGV = 'argv: [/usr/bin/bash, --noprofile, --norc, -c, "{command}"]'
INSTALL = "install: {packages: [bash]}"
BAD = {
    "no place for the command": (ARGV, "argv: [/usr/bin/bash, -c]", "argv", 'last word must be "{command}"'),
    "a relative program": (ARGV, 'argv: [bash, "{command}"]', "argv", "absolute path"),
    "no argv": (ARGV, "", "argv", "this key is missing"),
    "a taken name": ("name: mine", "name: pwsh", "name", "the name pwsh is taken"),
    "another file": ("name: mine", "name: other", "name", "the name is other, the file's mine.yaml"),
    "a name for no path": ("name: mine", "name: My Own", "name", "match pattern"),
    "a grammar that is unknown": ("grammar: bash", "grammar: fish", "grammar", "'bash' or 'pwsh'"),
    "a condition that is unknown": (INSTALL, "conditions: [windows]", "conditions.0", "windows_aliases"),
    "a quoting that is unknown": ("quoting: bash", "quoting: zsh", "quoting", "unknown quoting"),
    "a bad pattern": ("missing_command: '^", "missing_command: '^(", "missing_command", "not a regular expression"),
    "a key that is unknown": ("title:", "titel: x\ntitle:", "titel", "unknown key"),
    "bad YAML": ("title: Bash", "title: [Bash", "mine.yaml", "this is not YAML"),
    "a layer at another place": (INSTALL, "install: {interpreter: runner}", "mine.yaml", "/opt/languages/mine/"),
    "no pins": (INSTALL, "install: {archive: {file: x, program: x}}", "install.archive.sha256", "missing"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_entry_names_file_and_key(entry, case):
    old, new, key, said = BAD[case]
    assert old in GOOD
    name = "pwsh.yaml" if "taken" in case else "mine.yaml"
    with pytest.raises(UserError) as caught:
        entry(GOOD.replace(old, new, 1), name)
    assert Path(caught.value.where.split(":")[0]).name == name
    assert key in caught.value.where and said in caught.value.what and caught.value.hint


def test_shells_are_read_once_and_in_any_folder_order(entry, tmp_path):
    entry(GOOD.replace("name: mine", "name: a"), "a.yaml")
    assert [*entry()][-2:] == ["a", "mine"]
    assert read_shell(tmp_path / "a.yaml").file.parent == Path(os.environ[VARIABLE])
