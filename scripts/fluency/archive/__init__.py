"""The archive: a study in one file that can be verified, rebuilt, rescored and executed again offline."""

from fluency.archive.pack import archive_name, make_archive
from fluency.archive.replay import Replay, replay_archive
from fluency.archive.verify import VerifyReport, verify_archive

__all__ = ["Replay", "VerifyReport", "archive_name", "make_archive", "replay_archive", "verify_archive"]
