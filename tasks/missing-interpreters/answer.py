"""Scripts, by the interpreter that the list lacks."""


def expected(world, processes):
    listed = world.lines("ops/interpreters.txt")
    found = []
    for path in world.under("scripts"):
        mark, _, line = world.text(path).partition("\n")[0].partition("#!")
        if mark or not line:
            continue
        first, *others = line.split()
        words = [first.split("/")[-1], *(word for word in others if not word.startswith("-"))]
        name = words[1] if words[0] == "env" else words[0]
        if name not in listed:
            found.append(f"{name} {path}")
    return found
