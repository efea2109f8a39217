"""The lines of failed jobs, in the order of the log."""


def expected(world, processes):
    return [line for line in world.lines("logs/jobs.log") if "FAILED" in line]
