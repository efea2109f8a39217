"""Examples of property tests have no deadline: a slow machine is not a defect of a check."""

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
