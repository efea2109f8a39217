"""Images of earlier versions go, but for the newest, those in use, the bases, and those of other checkouts."""

import io
import secrets
import time
from collections.abc import Iterator

import pytest

from fluency.execution.image import CHECKOUT_LABEL, remove_older
from fluency.execution.image_content import REPOSITORY
from fluency.execution.sandbox import Sandbox

pytestmark = pytest.mark.engine


class Shelf:
    """Images of a checkout of the test's own, alike but for their labels."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.client, self.base = sandbox._engine.client(), sandbox.image.image_id
        self.checkout, self.tags = f"test-{secrets.token_hex(4)}", []

    def build(self, name: str, checkout: str | None = None, repository: str = REPOSITORY) -> str:
        """An image that differs from every other by its labels alone."""
        tag = f"{repository}:{self.checkout}-{name}"
        labels = {CHECKOUT_LABEL: checkout or self.checkout, "test": tag}
        for line in self.client.build(
            fileobj=io.BytesIO(f"FROM {self.base}\n".encode()), tag=tag, labels=labels, rm=True, decode=True
        ):
            assert "error" not in line, line
        self.tags.append(tag)
        time.sleep(0.05)
        return tag

    def there(self) -> set[str]:
        """Which of them are still there, by their last word."""
        known = {tag.rpartition("/")[2] for image in self.client.images() for tag in image["RepoTags"] or ()}
        return {tag.rpartition("-")[2] for tag in self.tags if tag in known}


@pytest.fixture
def shelf(sandbox) -> Iterator[Shelf]:
    """The shelf, emptied afterwards."""
    shelf = Shelf(sandbox)
    yield shelf
    for tag in shelf.tags:
        if tag.rpartition("-")[2] in shelf.there():
            shelf.client.remove_image(tag, force=True)


def test_the_newest_and_the_used_stay(sandbox, shelf):
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
    assert shelf.there() == {"fourth", "fifth", "other", "base"}, "a tag that is gone takes no place"


def test_the_current_one_stays_however_old(sandbox, shelf):
    current = shelf.build("current")
    shelf.build("newer")
    remove_older(sandbox._engine, current, shelf.checkout, kept=1)
    assert shelf.there() == {"current"}
