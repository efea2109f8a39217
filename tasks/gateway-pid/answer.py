"""The process id of vox-gateway."""


def expected(world, processes):
    return [str(fact.pid) for fact in processes if fact.name == "vox-gateway"]
