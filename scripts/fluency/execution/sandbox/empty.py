"""A world with nothing in it, for the canary."""

from __future__ import annotations

from types import MappingProxyType, SimpleNamespace

# 1,024 zero bytes are the end of a tar, and so a whole empty one.
EMPTY_WORLD = SimpleNamespace(tar=bytes(10240), ages=MappingProxyType({}), http=(), processes=())
