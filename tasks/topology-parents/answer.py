"""The processes in the file whose parent, PID 1 as null, is not the one it names."""

import json


def expected(world, processes):
    wanted = json.loads(world.text("config/topology.json"))
    names = {process.pid: process.name for process in processes} | {1: None}
    known = [process for process in processes if process.name in wanted]
    return [str(process.pid) for process in known if names[process.ppid] != wanted[process.name]]
