"""Images of earlier versions are removed, except images in use; the image file for nodes."""

import io
import secrets
import tarfile
import time
from contextlib import suppress

import docker
import pytest

from fluency.common.errors import SandboxError
from fluency.execution import image
from fluency.execution.image import (
    LABEL,
    keep_image,
    load_image,
    remove_older,
    shared_image_path,
)
from fluency.execution.image_content import REPOSITORY
from tests.waiting import wait_for

pytestmark = pytest.mark.engine


def test_remove_older_keeps_used_young_current_and_foreign(sandbox, monkeypatch):
    client, content = sandbox._engine.client(), sandbox.image.content_sha256
    checkout = f"test-{secrets.token_hex(4)}"

    def build(name: str, checkout: str = checkout, content: str = "other") -> str:
        tag = f"{REPOSITORY}:{checkout}-{name}"
        labels = {f"{LABEL}checkout": checkout, f"{LABEL}content": content, "test": tag}
        source = io.BytesIO(f"FROM {sandbox.image.image_id}\n".encode())
        for line in client.build(fileobj=source, tag=tag, labels=labels, rm=True, decode=True):
            assert "error" not in line, line
        return tag

    def there() -> set[str]:
        known = (tag for image in client.images() for tag in image["RepoTags"] or ())
        return {tag.rpartition("-")[2] for tag in known if checkout in tag}

    monkeypatch.setattr(image, "CHECKOUT_ID", checkout)
    used, old = build("used"), build("old")
    current, foreign = build("current", content=content), build("foreign", f"{checkout}x")
    container = client.create_container(used, "true")["Id"]
    try:
        remove_older(sandbox._engine)
        assert there() == {"used", "old", "current", "foreign"}, "they are younger than a day"
        time.sleep(1.1)
        monkeypatch.setattr(image, "UNUSED_AFTER", "1s")

        def removed() -> bool:
            remove_older(sandbox._engine)
            return "old" not in there()

        # An engine prunes for one caller at a time and refuses others, here another test's build.
        wait_for(removed, 30)
        assert there() == {"used", "current", "foreign"}
    finally:
        client.remove_container(container)
        for tag in {used, old, current, foreign}:
            with suppress(docker.errors.ImageNotFound):
                client.remove_image(tag)


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


def test_load_image_that_was_kept(sandbox, small, tmp_path, monkeypatch, capsys):
    engine = sandbox._engine
    monkeypatch.setattr(image, "FOLDER", tmp_path / "absent")
    keep_image(engine, TAG)
    assert capsys.readouterr().err == ""  # no shared folder, nothing to keep
    monkeypatch.setattr(image, "FOLDER", tmp_path)
    older = tmp_path / "agent-shell-sandbox-older.tar"
    older.touch()
    keep_image(engine, TAG)
    assert list(tmp_path.iterdir()) == [shared_image_path(TAG)]
    before = small.inspect_image(TAG)["Id"]
    small.remove_image(TAG, force=True)
    assert load_image(engine, TAG) and small.inspect_image(TAG)["Id"] == before


def test_an_image_that_is_not_there_or_damaged(sandbox, tmp_path, monkeypatch):
    monkeypatch.setattr(image, "FOLDER", tmp_path)
    engine = sandbox._engine
    assert not load_image(engine, TAG)
    shared_image_path(TAG).write_bytes(b"no tar at all" * 100)
    with pytest.raises(SandboxError, match=r"does not load the image(.|\n)*delete the file"):
        load_image(engine, TAG)
