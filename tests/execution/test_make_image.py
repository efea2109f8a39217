"""`make image` after PowerShell arrived: the old record goes, so that both shells are measured in one image."""

import json

import pytest

from fluency.core.records import ImageInfo
from fluency.execution.image import forget_other_image

INFO = ImageInfo(
    image_id="i",
    content_sha256="c" * 64,
    base="b",
    architecture="a",
    shells={"bash": "5.2", "pwsh": "7.6.5"},
    packages_sha256="d" * 64,
)


@pytest.mark.parametrize(("pwsh", "kept"), [("7.6.5", True), (None, False), ("7.6.4", False)])
def test_the_record_of_an_image_with_other_shells_is_forgotten(tmp_path, pwsh, kept):
    record = tmp_path / "image.json"
    record.write_text(json.dumps({"image": {"shells": {"bash": "5.2", "pwsh": pwsh}}}))
    forget_other_image(INFO, record)
    assert record.exists() is kept


def test_no_record_is_fine(tmp_path):
    forget_other_image(INFO, tmp_path / "image.json")
