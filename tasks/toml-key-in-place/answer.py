"""The hash of the settings with the one number replaced."""

import hashlib
import re


def expected(world, processes):
    data = world.files["config/relay.toml"]
    begin = data.index(b"\r\n[pool]\r\n")
    end = data.index(b"\r\n[", begin + 1)
    table = re.sub(rb"(\nmax_idle *= *)\d+", rb"\g<1>48", data[begin:end])
    return [hashlib.sha256(data[:begin] + table + data[end:]).hexdigest()]
