"""Lines below data/import/ that are not valid UTF-8."""


def expected(world, processes):
    lines = []
    for path, data in world.under("data/import").items():
        for number, line in enumerate(data.split(b"\n"), 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                lines.append(f"{number} {path}")
    return lines
