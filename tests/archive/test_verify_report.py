"""What a verification ends with: the exit code and the verdict on each kind of aspect."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from fluency.archive.findings import Finding, VerifyReport
from fluency.archive.manifest import Manifest


def report(problems: Sequence[Finding] = (), unproven: Sequence[Finding] = ()) -> VerifyReport:
    manifest = Manifest.model_construct()
    return VerifyReport(Path("x"), "0" * 64, manifest, problems=list(problems), unproven=list(unproven))


@pytest.mark.parametrize("aspect", ["evidence", "scores", "wording"])
def test_a_contradiction_weighs_more_than_what_is_unproven(aspect) -> None:
    found = Finding("cells.csv", "it differs", aspect)
    assert (report().exit_code, report().verdict(aspect)) == (0, "proven")
    assert (report(unproven=[found]).exit_code, report(unproven=[found]).verdict(aspect)) == (3, "unproven")
    both = report([found], [found])
    assert (both.exit_code, both.verdict(aspect), both.ok) == (1, "altered", False)


def test_what_cannot_be_told_is_said_once():
    """And once more where it is allowed and worth knowing, in whatever order the two come."""
    for first, second in (("add_unproven", "note"), ("note", "add_unproven")):
        found = report()
        for kind in (first, first, second, second):
            found.add_unproven("x", "it", "files") if kind == "add_unproven" else found.add_note("x", "it")
        assert (len(found.unproven), len(found.notes)) == (1, 1)
