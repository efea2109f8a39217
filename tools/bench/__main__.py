"""`make bench NAMES="scale archive"`: each benchmark's `main(small)` returns what it measured."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from pathlib import Path

from fluency.cli import exit_code_of
from fluency.common.files import pretty_json, write_atomic

ALL = ("designed", "scale", "sandbox", "busy", "archive")


def main() -> int:
    """Print each figure and write it to results/; a small run only shows that it works."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(ALL)}")
    parser.add_argument("--small", action="store_true", help="a few seconds of each")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(ALL)):
        parser.error(f"unknown benchmark {', '.join(unknown)}; known: {', '.join(ALL)}")
    for name in given.names or ALL:
        print(f"== {name}", flush=True)
        machine = f"{os.cpu_count()} processors, load {os.getloadavg()[0]}, {platform.release()}"
        started = time.monotonic()
        figures = importlib.import_module(f"tools.bench.{name}").main(given.small)
        document = {"machine": machine, "s": time.monotonic() - started, "figures": figures}
        if not given.small:
            path = Path(__file__).parent / "results" / f"{name}.json"
            write_atomic(path, pretty_json(document))
        for key, value in figures.items():
            print(f"  {key}: {value}")
    return 0


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
