"""What a verification ends with: the exit code and the verdict on each kind of truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fluency.archive.findings import Finding, Findings, VerifyReport
from fluency.archive.manifest import Manifest


def report(problems: Sequence[Finding] = (), unproven: Sequence[Finding] = ()) -> VerifyReport:
    manifest = Manifest.model_construct()
    return VerifyReport(Path("x"), "0" * 64, manifest, list(problems), list(unproven), [], [], {}, {}, 1.0)


@pytest.mark.parametrize("truth", ["evidence", "judgement", "words"])
def test_a_contradiction_weighs_more_than_what_is_unproven(truth) -> None:
    found = Finding("cells.csv", "it differs", truth)
    assert (report().exit_code, report().verdict(truth)) == (0, "proven")
    assert (report(unproven=[found]).exit_code, report(unproven=[found]).verdict(truth)) == (3, "unproven")
    both = report([found], [found])
    assert (both.exit_code, both.verdict(truth), both.ok) == (1, "altered", False)


def test_what_cannot_be_told_is_said_once():
    """And once more where it is allowed and worth knowing, in whatever order the two come."""
    for first, second in (("cannot_tell", "remark"), ("remark", "cannot_tell")):
        findings = Findings(layers=frozenset())
        for kind in (first, first, second, second):
            findings.cannot_tell("x", "it", "evidence") if kind == "cannot_tell" else findings.remark("x", "it")
        assert (len(findings.unproven), len(findings.remarks)) == (1, 1)
