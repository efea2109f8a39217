"""A report; odd worlds have an odd number of files with low coverage, even worlds an even one."""

NAMES = ("api", "cache", "dns", "edge", "lanes", "mail", "peers", "queue", "store", "zone")


def extend(builder, rng):
    def rates(line, branch):
        return [f'line-rate="{line}"', f'branch-rate="{branch}"']

    def element(name, part, line, branch, method="1"):
        named = [f'name="{name}.{part}"', f'filename="src/{name}.py"']
        words = [*named, *rates(line, branch)]
        if rng.chance(50):
            words = rng.shuffled(words)
        if rng.chance(25):
            words = [word.replace('"', "'") for word in words]
        gap = rng.pick((" ", " ", "\n        "))
        inner = f'<methods><method name="run" {" ".join(rates(method, "1"))}/></methods>'
        return f"      <class {gap.join(words)}>{inner}</class>"

    names = rng.shuffled(NAMES)
    low, high = names[: 3 if builder.odd else 4], names[4:]
    lows = ["0.79", "0.799", "0", *(f"0.{rng.between(10, 78)}" for _ in range(3))]
    parts = [element(name, "A", rate, "1") for name, rate in zip(low, lows, strict=False)]
    parts.append(element(low[0], "B", "0.5", "0.9"))
    parts.append(element(low[1], "B", "1", "1"))
    highs = ("0.8", "0.8125", "1", "0.80", "0.9", "1.0")
    for name, rate in zip(high, highs, strict=True):
        parts.append(element(name, "A", rate, rng.pick(("0.5", "0.75")), rng.pick(("0.2", "1"))))
    parts = rng.shuffled(parts)
    middle = len(parts) // 2
    lines = [
        '<?xml version="1.0"?>',
        '<coverage line-rate="0.7" branch-rate="0.6">',
        "  <packages>",
    ]
    for name, group in (("one", parts[:middle]), ("two", parts[middle:])):
        lines.append(f'    <package name="{name}" line-rate="0.6"><classes>')
        lines += [*group, "    </classes></package>"]
        lines.append(f'    <!-- <class filename="src/old_{name}.py" line-rate="0.1"/> -->')
    builder.file("reports/coverage.xml", "\n".join([*lines, "  </packages>", "</coverage>"]) + "\n")
