"""The names of the processes that begin with job-."""


def expected(world, processes):
    names = (fact.name for fact in processes)
    return [name for name in names if name.startswith("job-")]
