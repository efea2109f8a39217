"""PID and title of each vox-view that was started with one."""


def expected(world, processes):
    viewers = [
        process for process in processes if process.name == "vox-view" and "--title" in process.args
    ]
    return [f"{viewer.pid} {viewer.args[viewer.args.index('--title') + 1]}" for viewer in viewers]
