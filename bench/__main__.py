"""`make bench`: every benchmark, or those named; each module's `main()` returns what it measured."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import time
from pathlib import Path

from fluency.files import pretty_json, write_atomic

RESULTS = Path(__file__).parent / "results"
ALL = ("workflow", "sandbox", "generation", "archive")


def machine() -> dict[str, object]:
    """What the ratios were measured on."""
    return {
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "load_before": os.getloadavg()[0],
    }


def main() -> None:
    """Run the benchmarks one after the other and print each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*ALL, []], default=list(ALL))
    for name in parser.parse_args().names:
        print(f"== {name}", flush=True)
        about, started = machine(), time.monotonic()
        figures = importlib.import_module(f"bench.{name}").main()
        seconds = round(time.monotonic() - started, 1)
        write_atomic(RESULTS / f"{name}.json", pretty_json({"machine": about, "seconds": seconds, "figures": figures}))
        for key, value in figures.items():
            print(f"  {key}: {value}")


if __name__ == "__main__":
    main()
