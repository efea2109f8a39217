"""The archive: a study in one file that can be verified, rebuilt, rescored and executed again offline."""
