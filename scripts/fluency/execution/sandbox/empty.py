"""A world with nothing in it, for the canary."""

from __future__ import annotations

from fluency.world.model import World, pack

EMPTY_WORLD = World(seed=0, files={}, dirs=(), ages={}, http=(), processes=(), tar=pack({}, ()))
