"""Property tests here have no deadline an example: a shared machine may be slow, which is not a defect of a check."""

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
