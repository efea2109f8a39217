"""`make bench`: the benchmarks of ALL, or those named; each module's `main()` returns what it measured."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path

from fluency.common.files import pretty_json, write_atomic

RESULTS = Path(__file__).parent / "results"
ALL = ("scale", "sandbox", "generation", "archive")
BY_NAME = ("designed", "slices", "peer_inspect")
"""Only when asked for: one takes a quarter of an hour, one a Slurm, one another environment and its own packages."""


def machine() -> dict[str, object]:
    """What the ratios were measured on."""
    return {
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "load_before": os.getloadavg()[0],
    }


def chosen(arguments: Sequence[str] | None = None) -> tuple[list[str], bool]:
    """The benchmarks that the command line names, or all; and whether to run them small."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(ALL + BY_NAME))
    parser.add_argument(
        "--small", action="store_true", help="a few seconds of each: whether it works, not how fast"
    )
    given = parser.parse_args(arguments)
    names = given.names
    if unknown := sorted(set(names) - {*ALL, *BY_NAME}):
        parser.error(
            f"there is no benchmark {', '.join(unknown)}; there are {', '.join(ALL + BY_NAME)}"
        )
    return names or list(ALL), given.small


def main() -> None:
    """Run the benchmarks one after the other and print each figure."""
    names, small = chosen()
    for name in names:
        print(f"== {name}", flush=True)
        about, started = machine(), time.monotonic()
        figures = importlib.import_module(f"tools.bench.{name}").main(small)
        seconds = round(time.monotonic() - started, 1)
        if not small:
            write_atomic(
                RESULTS / f"{name}.json",
                pretty_json({"machine": about, "seconds": seconds, "figures": figures}),
            )
        for key, value in figures.items():
            print(f"  {key}: {value}")


if __name__ == "__main__":
    main()
