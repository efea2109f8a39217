"""PID and queue of each process named exactly vox-worker, from /proc as it was before the command."""


def expected(world, processes):
    workers = [process for process in processes if process.name == "vox-worker"]
    return [f"{worker.pid} {worker.args[worker.args.index('--queue') + 1]}" for worker in workers]
