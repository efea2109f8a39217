"""The embedded model: a real language model on this machine, behind the same Messages API as any other.

It needs no key and costs nothing. `weights` fetches the model's file and trusts only its hash, `server`
runs it behind POST /v1/messages on loopback for as long as the run lasts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fluency.core.study import ModelConfig


def base_url(model: ModelConfig) -> str:
    """Where an embedded model is served, starting it if need be; see `server.base_url`."""
    # Imported when asked: the process that holds the model shares this package and needs none of the rest.
    from fluency.generation.local_model import server

    return server.base_url(model)
