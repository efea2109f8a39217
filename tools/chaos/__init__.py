"""Runs of a study that are disturbed at random moments, to see that each one is finished by the next (`make chaos`)."""
