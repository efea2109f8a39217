"""Snakemake's own report shows what the Snakefile marks as results."""

import zipfile
from pathlib import PurePosixPath

import pytest

pytestmark = pytest.mark.engine


def test_snakemake_report_shows_report_table_explorer_and_figures(finished, tmp_path):
    project = finished.clone(tmp_path / "project")
    folder = project.root / "results/test"
    (folder / "figures/one.svg").write_text("<svg/>")  # without PowerShell it is the only one
    project.snakemake("--report", "shown.zip")
    with zipfile.ZipFile(project.root / "shown.zip") as shown:
        names = [PurePosixPath(name) for name in shown.namelist() if "/data/raw/" in name]
        found = {name.name: shown.read(str(name)) for name in names}
        (index,) = (shown.read(name) for name in shown.namelist() if name == "shown/report.html")
    assert len({name.parent for name in names if name.suffix == ".html"}) == 1, "links hold"
    for label in (b"1 Report", b"2 Explorer", b"every run: prompt, reply, outputs", b"4 Table"):
        assert label in index
    files = [folder / name for name in ("cells.csv", "report.html", "explorer.html")]
    files += (folder / "figures").glob("*.svg")
    assert found == {file.name: file.read_bytes() for file in files}
