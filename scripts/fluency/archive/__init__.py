"""The archive: a study in one file that can be verified, rebuilt, rescored and executed again offline."""

from fluency.archive.pack import make_archive

__all__ = ["make_archive"]
