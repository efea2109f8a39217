"""The archive: a study in one file that can be verified, rescored and executed again offline."""
