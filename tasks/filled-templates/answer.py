"""The templates, and their texts with the keys replaced, each once."""

import re


def state(world, processes):
    rows = [row for row in world.lines("deploy/site.env") if not row.startswith("#")]
    values = {f"{{{{{key}}}}}": value for key, _, value in (row.partition("=") for row in rows)}
    pattern = "|".join(map(re.escape, values))
    files = world.under("templates")
    for path, data in list(files.items()):
        if path.endswith(".tmpl"):
            text = re.sub(pattern, lambda found: values[found[0]], data.decode())
            files[path.removesuffix(".tmpl")] = text.encode()
    names = [path.removeprefix("templates/") for path in files]
    return {"templates": {"files": names}, **files}
