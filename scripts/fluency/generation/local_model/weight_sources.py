"""What the sources of a file share."""

from __future__ import annotations


class Unreachable(Exception):
    """A source does not answer or does not hold the file; the text goes on after "the source …"."""
