"""The commands that each unit starts after its drop-ins."""

import re


def expected(world, processes):
    found = []
    for path in world.under("units"):
        unit = path.removeprefix("units/")
        if "/" in unit or not unit.endswith(".service"):
            continue
        drop_ins = [name for name in world.under(f"{path}.d") if name.endswith(".conf")]
        commands = []
        for part in (path, *sorted(drop_ins)):
            section = None
            for line in world.lines(part):
                if line.startswith("["):
                    section = line
                start = re.fullmatch(r"ExecStart *= *(.*)", line)
                if start and section == "[Service]":
                    commands = [*commands, start[1]] if start[1] else []
        found += [f"{unit} {command}" for command in commands]
    return found
