"""Start of a Harbor environment: unpack the world, start its service and processes.

It runs in the sandbox image, in the folder of the sandbox's own modules, as the image's entry
point.
"""

from __future__ import annotations

import gzip
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
READY = "/run/fluency-ready"
"""It is there when the world is: Harbor's health check and the verifier wait for it."""
sys.path.insert(0, HERE)

import command
import processes
import runner
import tree


def read_world(path: str) -> tuple[dict, bytes]:
    """The invocation's header and the files' content, as the sandbox's harness would send them."""
    with gzip.open(path) as source:
        return json.loads(source.read(int(source.readline(20)))), source.read()


def main() -> None:
    """Prepare what a command may use; the service logs into a pipe that is never read."""
    header, content = read_world(f"{HERE}/world.gz")
    root = header["root"]
    os.chown(root, command.UID, command.UID)
    processes.as_user(command.UID, tree.write, root, header["tree"], content, header["ages"])
    if header["http"] is not None:
        _, ready, log = runner.start_service(header["port"], header["http"])
        if os.read(ready, 1) != b"1":
            raise RuntimeError("the HTTP service did not start")
        os.set_inheritable(log, True)
    processes.start_helpers(header["helpers"])
    open(READY, "w").close()
    os.chdir(root)
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
