"""Images of earlier versions are removed, except images in use and of others; the image file for a cluster's nodes."""

import io
import secrets
import tarfile
import time
from collections.abc import Iterator

import pytest

from fluency.common.errors import SandboxError
from fluency.execution.image import (
    CHECKOUT_LABEL,
    keep_image,
    load_image,
    remove_older,
    shared_image_path,
)
from fluency.execution.image_content import REPOSITORY
from fluency.execution.sandbox import Sandbox

pytestmark = pytest.mark.engine


class Shelf:
    """Images of the test's own checkout, alike except for their labels."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.client, self.base = sandbox._engine.client(), sandbox.image.image_id
        self.checkout, self.tags = f"test-{secrets.token_hex(4)}", []

    def build(self, name: str, checkout: str | None = None, repository: str = REPOSITORY) -> str:
        """An image that differs from every other by its labels alone."""
        tag = f"{repository}:{self.checkout}-{name}"
        labels = {CHECKOUT_LABEL: checkout or self.checkout, "test": tag}
        for line in self.client.build(
            fileobj=io.BytesIO(f"FROM {self.base}\n".encode()),
            tag=tag,
            labels=labels,
            rm=True,
            decode=True,
        ):
            assert "error" not in line, line
        self.tags.append(tag)
        time.sleep(0.05)
        return tag

    def there(self) -> set[str]:
        """Which of them are still there, by their last word."""
        known = {
            tag.rpartition("/")[2]
            for image in self.client.images()
            for tag in image["RepoTags"] or ()
        }
        return {tag.rpartition("-")[2] for tag in self.tags if tag in known}


@pytest.fixture
def shelf(sandbox) -> Iterator[Shelf]:
    """The shelf, emptied afterwards."""
    shelf = Shelf(sandbox)
    yield shelf
    for tag in shelf.tags:
        if tag.rpartition("-")[2] in shelf.there():
            shelf.client.remove_image(tag, force=True)


def test_remove_older_keeps_newest_and_used(sandbox, shelf):
    oldest = shelf.build("used")
    for name in ("second", "third", "fourth", "fifth"):
        shelf.build(name)
    shelf.build("other", checkout=f"{shelf.checkout}x")
    shelf.build("base", repository=f"{REPOSITORY}-base")
    container = shelf.client.create_container(oldest, "true")["Id"]
    try:
        remove_older(sandbox._engine, shelf.tags[4], shelf.checkout, kept=3)
        assert shelf.there() == {"used", "third", "fourth", "fifth", "other", "base"}
    finally:
        shelf.client.remove_container(container)
    remove_older(sandbox._engine, shelf.tags[1], shelf.checkout, kept=3)
    assert shelf.there() == {"fourth", "fifth", "other", "base"}, (
        "a tag that is gone takes no place"
    )


def test_remove_older_keeps_the_current(sandbox, shelf):
    current = shelf.build("current")
    shelf.build("newer")
    remove_older(sandbox._engine, current, shelf.checkout, kept=1)
    assert shelf.there() == {"current"}


TAG = "agent-shell-sandbox-carried:small"


@pytest.fixture
def small(sandbox):
    """An image of one empty file, under a name of the test's own."""
    client = sandbox._engine.client()
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("empty"))
    client.import_image_from_data(
        layer.getvalue(), repository=TAG.partition(":")[0], tag=TAG.partition(":")[2]
    )
    yield client
    client.remove_image(TAG, force=True)


def test_load_image_that_was_kept(sandbox, small, tmp_path, capsys):
    engine = sandbox._engine
    keep_image(engine, TAG, tmp_path / "absent")
    assert capsys.readouterr().err == ""  # no shared folder, nothing to keep
    older = tmp_path / "agent-shell-sandbox-older.tar"
    older.touch()
    keep_image(engine, TAG, tmp_path)
    assert list(tmp_path.iterdir()) == [shared_image_path(TAG, tmp_path)]
    before = small.inspect_image(TAG)["Id"]
    small.remove_image(TAG, force=True)
    assert load_image(engine, TAG, tmp_path) and small.inspect_image(TAG)["Id"] == before


def test_an_image_that_is_not_there_or_damaged(sandbox, tmp_path):
    engine = sandbox._engine
    assert not load_image(engine, TAG, tmp_path)
    shared_image_path(TAG, tmp_path).write_bytes(b"no tar at all" * 100)
    with pytest.raises(SandboxError, match=r"does not load the image(.|\n)*delete the file"):
        load_image(engine, TAG, tmp_path)
