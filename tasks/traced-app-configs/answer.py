"""The vox-app processes whose config file is there and turns tracing on."""


def expected(world, processes):
    traced = []
    for app in processes:
        path = _config(app.args) if app.name == "vox-app" else ""
        if path in world.files and "tracing = on" in world.lines(path):
            traced.append(str(app.pid))
    return traced


def _config(args):
    for place, arg in enumerate(args):
        if arg == "--config":
            return args[place + 1]
        if arg.startswith("--config="):
            return arg.removeprefix("--config=")
