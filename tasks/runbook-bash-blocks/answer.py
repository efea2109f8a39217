"""Lines of the fenced blocks whose language is exactly console, in the order of the file, without
blank lines and margins."""


def expected(world, processes):
    found, language = [], None
    for line in world.lines("docs/runbook.md"):
        if language is None:
            if line.startswith("```"):
                language = line[3:].split(" ")[0]
        elif line == "```":
            language = None
        elif language == "console" and line.strip():
            found.append(line.strip())
    return found
