from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fluency.generation.store import AnswerStore
from tests.generation.endpoint import Endpoint


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        yield server


@pytest.fixture
def store(tmp_path: Path) -> AnswerStore:
    return AnswerStore(tmp_path / "answers")
