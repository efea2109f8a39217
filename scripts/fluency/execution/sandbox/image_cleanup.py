"""Images of earlier versions: every change of the sources makes a new one, so the oldest have to go."""

from __future__ import annotations

from contextlib import suppress

import docker.errors

from fluency.common.files import sha256
from fluency.common.paths import SANDBOX
from fluency.execution.sandbox.engine import Engine
from fluency.execution.sandbox.image_content import REPOSITORY

LABEL = "agent-shell-sandbox.checkout"
# A hash, because the path would tell the user's name to whoever is given the image.
CHECKOUT = sha256(str(SANDBOX))[:12]
KEPT = 3


def remove_older(engine: Engine, current: str, checkout: str = CHECKOUT, kept: int = KEPT) -> list[str]:
    """Remove what this checkout built before, but for the newest `kept` and those that a container uses.

    `current` is the tag that stays whatever its age. Returns the tags that were removed; never raises, since nothing
    depends on it. Bases have another repository, and images of other checkouts another label.
    """
    client, removed = engine.patient_client(120), []
    with suppress(docker.errors.DockerException, OSError):
        found = client.images(filters={"label": f"{LABEL}={checkout}"})
        newest_first = sorted(found, key=lambda image: client.inspect_image(image["Id"])["Created"], reverse=True)
        tags = [tag for image in newest_first for tag in image["RepoTags"] or () if _is_ours(tag)]
        for tag in [tag for tag in tags if _short(tag) != current][max(0, kept - 1) :]:
            with suppress(docker.errors.APIError):  # a container uses it
                client.remove_image(tag)
                removed.append(_short(tag))
    return removed


def _short(tag: str) -> str:
    """Without the registry that Podman puts before every name."""
    return tag.rpartition("/")[2]


def _is_ours(tag: str) -> bool:
    name, _, version = _short(tag).rpartition(":")
    return name == REPOSITORY and not version.startswith("building-")
