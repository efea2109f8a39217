"""What a user without any rights is told."""

import os

import pytest

from fluency.common.errors import SandboxError

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="changes its user id, as root")


def as_nobody(question) -> str:
    """The error a call gives when an unprivileged user makes it, from a child process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        text = "nothing was raised"
        try:
            os.setgroups([])
            os.setegid(65534)
            os.seteuid(65534)
            question()
        except SandboxError as error:
            text = str(error)
        except BaseException as error:
            text = repr(error)
        finally:
            os.write(write, text.encode())
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as stream:
        return stream.read()
