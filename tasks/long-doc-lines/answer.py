"""Lines of the pages below docs/ with more than 100 code points."""


def expected(world, processes):
    lines = []
    for path, data in world.under("docs").items():
        if path.endswith(".md"):
            text = data.decode("utf-8-sig")
            for number, line in enumerate(text.split("\n"), 1):
                if len(line.removesuffix("\r")) > 100:
                    lines.append(f"{number} {path}")
    return lines
