"""The pages made from code: the comparison notices a change."""

from tests.programs import completed
from tools.pages import __main__ as command
from tools.pages import config


def test_pages_check_names_altered_page_and_writing_mends_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "MAKERS", (config.pages,))
    page, stray = tmp_path / "docs/config.md", tmp_path / "docs/schemas/old.schema.json"
    stray.parent.mkdir(parents=True)
    stray.write_text("{}")
    assert command.main(["--check"]) == 1 and not page.exists()
    assert command.main([]) == 0 and not stray.exists() and command.main(["--check"]) == 0
    page.write_text(page.read_text().replace("| default |", "| standard |", 1))
    capsys.readouterr()
    assert command.main(["--check"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "docs/config.md is not what the present code writes",
        "Hint: make pages",
    ]


def test_example_is_proven_by_the_present_code():
    assert "PROVEN" in completed("make", "example").stdout.split("Report:")[0].split()
