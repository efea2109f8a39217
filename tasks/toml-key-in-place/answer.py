"""The settings with the one number replaced."""

import re


def state(world, processes):
    data = world.files["config/relay.toml"]
    begin = data.index(b"\r\n[pool]\r\n")
    end = data.index(b"\r\n[", begin + 1)
    table = re.sub(rb"(\nmax_idle *= *)\d+", rb"\g<1>48", data[begin:end])
    files = [path.removeprefix("config/") for path in world.under("config")]
    return {
        "config/relay.toml": data[:begin] + table + data[end:],
        "config": {"files": files},
    }
