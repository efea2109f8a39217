"""What a download says of itself, and how often."""

from __future__ import annotations

import pytest

from fluency.generation.local_model import download_progress
from fluency.generation.local_model.download_progress import Progress


@pytest.fixture
def said(monkeypatch, capsys):
    """Lines of a download of 400 MB, of which so many MB were there at so many seconds."""

    def lines(*moments: tuple[float, int]) -> list[str]:
        progress = Progress("small", 400_000_000)
        for second, megabytes in moments:
            monkeypatch.setattr(download_progress.time, "monotonic", lambda now=second: now)
            progress.at(megabytes * 1_000_000, "piece 1 of 2")
        return capsys.readouterr().err.splitlines()

    return lines


def test_a_line_has_bytes_rate_and_what_is_left(said):
    assert said((7, 100), (9, 120)) == [
        "weights: small: 120 of 400 MB (piece 1 of 2), 10.0 MB/s, about 28 s left",
    ]


def test_it_speaks_after_two_seconds_with_news_and_after_fifteen_without(said):
    assert len(said((7, 0), (8.9, 300))) == 0
    assert len(said((7, 0), (9, 20))) == 1
    assert len(said((7, 0), (21.9, 19))) == 0
    assert len(said((7, 0), (22, 19))) == 1
    assert said((7, 50), (30, 50)) == ["weights: small: 50 of 400 MB (piece 1 of 2), 0.0 MB/s"]
    assert len(said((7, 0), (9, 40), (10, 300), (11, 310))) == 2, "counted from the line before"
