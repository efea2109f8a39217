"""What an image contains and records; older images are removed; the image file for nodes."""

import io
import json
import re
import secrets
import tarfile
import time
from contextlib import suppress

import docker
import pytest

from fluency.common.errors import SandboxError
from fluency.common.paths import SANDBOX
from fluency.core.records import ImageInfo
from fluency.core.shells import DESIGN_SHELLS, SHELLS, Install
from fluency.execution import image
from fluency.execution.archives import architecture_of, archive_origin
from fluency.execution.base_image import run_build
from fluency.execution.image_content import REPOSITORY, content_sha256
from tests.waiting import wait_for

FIRST = SHELLS[DESIGN_SHELLS[0]]


def test_content_hash_covers_shells(monkeypatch):
    before, other = content_sha256(["bash"]), content_sha256(["pwsh"])
    changed = (
        {"argv": ["/usr/bin/bash", "-c"]},
        {"version_command": "echo 5"},
        {"install": Install()},
    )
    for fact in changed:
        monkeypatch.setitem(SHELLS, FIRST.name, FIRST.model_copy(update=fact))
        assert content_sha256(["bash"]) != before and content_sha256(["pwsh"]) == other
    monkeypatch.setitem(SHELLS, FIRST.name, FIRST)
    assert content_sha256(["bash"]) == before


PINS = SHELLS["pwsh"].install.archive.sha256


def test_dockerfile_defaults_are_the_shells():
    text = (SANDBOX / "Dockerfile").read_text()
    assert dict(
        re.findall(r'^ARG (SHELL\w+)="(.*)"$', text, re.MULTILINE)
    ) == image.build_arguments("pwsh")
    pins = {
        f"SHA256_{name}": digest
        for name, digest in zip(("AMD64", "ARM64"), PINS.values(), strict=True)
    }
    (version,) = set(re.findall(r"\d+\.\d+\.\d+", str(SHELLS["pwsh"].install.archive.file)))
    stated = dict(re.findall(r"^ARG POWERSHELL_(\w+)=(.*)$", text, re.MULTILINE))
    assert stated == {"VERSION": version, **pins}


FACTS = {"image_id": "i", "content_sha256": "c" * 64, "packages_sha256": "d" * 64}
FACTS |= {"base": "b", "architecture": "a"}
INFO = ImageInfo(shells={"bash": "5.2", "pwsh": "7.6.5"}, **FACTS)


@pytest.mark.parametrize("pwsh, kept", [("7.6.5", True), (None, False), ("7.6.4", False)])
def test_forget_other_image_by_shells(tmp_path, pwsh, kept):
    record = tmp_path / "image.json"
    image.forget_other_image(INFO, record)  # no record is fine
    record.write_text(json.dumps({"image": {"shells": {"bash": "5.2", "pwsh": pwsh}}}))
    image.forget_other_image(INFO, record)
    assert record.exists() is kept


X64, ARM64 = (PINS[architecture_of(machine)] for machine in ("amd64", "arm64"))


@pytest.mark.parametrize(
    "label, architecture, archives, unofficial",
    [
        ("download", "amd64", {"pwsh": X64}, []), ("download", "arm64", {"pwsh": ARM64}, []),
        (X64, "amd64", {"pwsh": X64}, []), ("ab" * 32, "amd64", {"pwsh": "ab" * 32}, ["pwsh"]),
        ("none", "amd64", {}, []),
    ],
)  # fmt: skip
def test_archive_origin_by_label(label, architecture, archives, unofficial):
    assert archive_origin("pwsh", label, architecture) == (archives, unofficial)


@pytest.mark.engine
def test_remove_older_keeps_used_young_current_and_foreign(sandbox, engine, monkeypatch):
    client, sources = engine.client(), content_sha256()
    checkout = f"test-{secrets.token_hex(4)}"

    def build(name, checkout=checkout, sources="other"):
        tag = f"{REPOSITORY}:{checkout}-{name}"
        labels = {f"{image.LABEL}checkout": checkout, f"{image.LABEL}sources": sources, "test": tag}
        source = io.BytesIO(f"FROM {sandbox.images['bash'].image_id}\n".encode())
        run_build(engine, fileobj=source, tag=tag, labels=labels)
        return tag

    def there():
        known = (tag for found in client.images() for tag in found["RepoTags"] or ())
        return {tag.rpartition("-")[2] for tag in known if checkout in tag}

    monkeypatch.setattr(image, "CHECKOUT_ID", checkout)
    used, old = build("used"), build("old")
    current, foreign = build("current", sources=sources), build("foreign", f"{checkout}x")
    container = client.create_container(used, "true")["Id"]

    def removed():
        image.remove_older(engine)
        return "old" not in there()

    try:
        image.remove_older(engine)
        assert there() == {"used", "old", "current", "foreign"}, "they are younger than a day"
        time.sleep(1.1)
        monkeypatch.setattr(image, "UNUSED_AFTER", "1s")
        # An engine prunes for one caller at a time and refuses others, here another test's build.
        wait_for(removed, 30)
        assert there() == {"used", "current", "foreign"}
    finally:
        client.remove_container(container)
        for tag in {used, old, current, foreign}:
            with suppress(docker.errors.ImageNotFound):
                client.remove_image(tag)


TAG = "agent-shell-sandbox-carried:small"


@pytest.mark.engine
def test_load_image_that_was_kept(engine, tmp_path, monkeypatch, capsys):
    client = engine.client()
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("empty"))
    name, _, version = TAG.partition(":")
    client.import_image_from_data(layer.getvalue(), repository=name, tag=version)
    try:
        monkeypatch.setattr(image, "image_tag", lambda _: TAG)
        monkeypatch.setattr(image, "FOLDER", tmp_path / "absent")
        image.keep_image(engine, "bash")
        assert capsys.readouterr().err == ""  # no shared folder, nothing to keep
        monkeypatch.setattr(image, "FOLDER", tmp_path)
        assert not image.load_image(engine, "bash")
        for name in ("bash-older.tar", "pwsh-other.tar"):
            (tmp_path / name).touch()
        image.keep_image(engine, "bash")
        kept = {image.shared_image_path("bash"), tmp_path / "pwsh-other.tar"}
        assert {*tmp_path.iterdir()} == kept
        before = client.inspect_image(TAG)["Id"]
        client.remove_image(TAG, force=True)
        assert image.load_image(engine, "bash") and client.inspect_image(TAG)["Id"] == before
    finally:
        client.remove_image(TAG, force=True)
    image.shared_image_path("bash").write_bytes(b"no tar at all" * 100)
    with pytest.raises(SandboxError, match=r"does not load the image(.|\n)*delete the file"):
        image.load_image(engine, "bash")
