"""Sessions with a vox-shell: their id, their leader if it is still there, and how many belong to
them."""


def expected(world, processes):
    names = {process.pid: process.name for process in processes}
    lines = []
    for session in {process.session for process in processes if process.name == "vox-shell"}:
        members = [process for process in processes if process.session == session]
        lines.append(f"{session} {names.get(session, '-')} {len(members)}")
    return lines
