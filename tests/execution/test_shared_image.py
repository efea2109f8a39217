"""The image as a file for the nodes of a cluster: kept once, loaded by name, the same image."""

import io
import tarfile

import pytest

from fluency.common.errors import SandboxError
from fluency.execution.image import keep_image, load_image, shared_image_path

pytestmark = pytest.mark.engine
TAG = "agent-shell-sandbox-carried:small"


@pytest.fixture
def small(sandbox):
    """An image of one empty file, under a name of the test's own."""
    client = sandbox._engine.client()
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("empty"))
    client.import_image_from_data(layer.getvalue(), repository=TAG.partition(":")[0], tag=TAG.partition(":")[2])
    yield client
    client.remove_image(TAG, force=True)


def test_what_is_kept_is_loaded_as_the_same_image(sandbox, small, tmp_path, capsys):
    engine = sandbox._engine
    keep_image(engine, TAG, tmp_path / "absent")
    assert capsys.readouterr().err == ""  # no shared folder, nothing to keep
    older = tmp_path / "agent-shell-sandbox-older.tar"
    older.touch()
    keep_image(engine, TAG, tmp_path)
    assert list(tmp_path.iterdir()) == [shared_image_path(TAG, tmp_path)]
    before = small.inspect_image(TAG)["Id"]
    small.remove_image(TAG, force=True)
    assert load_image(engine, TAG, tmp_path)
    assert small.inspect_image(TAG)["Id"] == before


def test_an_image_that_is_not_there_or_damaged(sandbox, tmp_path):
    engine = sandbox._engine
    assert not load_image(engine, TAG, tmp_path)
    shared_image_path(TAG, tmp_path).write_bytes(b"no tar at all" * 100)
    with pytest.raises(SandboxError, match=r"does not load the image(.|\n)*delete the file"):
        load_image(engine, TAG, tmp_path)
