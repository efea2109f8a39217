"""The crate with the identifier renamed in its .rs files."""

import re


def state(world, processes):
    files = world.under("crates/vox-ledger")
    names = [path.removeprefix("crates/vox-ledger/") for path in files]
    wanted = {"crates/vox-ledger": {"files": names}}
    for path in files:
        text = world.text(path)
        if path.endswith(".rs"):
            text = re.sub(r"\bload_entry\b", "read_entry", text)
        wanted[path] = {"lines": text.splitlines()}
    return wanted
