"""The scheduler's program and arguments."""


def expected(world, processes):
    return [" ".join((fact.name, *fact.args)) for fact in processes if fact.name == "vox-sched"]
