"""The miner: finds one-shot shell requests in a user's own agent transcripts and drafts task candidates from them.

Everything happens on this machine: files are read, a folder is written, nothing is sent anywhere.
"""

from __future__ import annotations

from fluency.miner.mine import Report, main, mine

__all__ = ["Report", "main", "mine"]
