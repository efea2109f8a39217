"""Benchmarks whose mean rose by more than 25 percent, in whole numbers."""

import json


def means(world, name):
    benchmarks = json.loads(world.text(f"data/bench/{name}.json"))["benchmarks"]
    return {benchmark["name"]: benchmark["stats"]["mean_ns"] for benchmark in benchmarks}


def expected(world, processes):
    old, new = means(world, "baseline"), means(world, "current")
    both = [name for name in old if name in new]
    return [
        f"{name}: {old[name]} -> {new[name]}" for name in both if 100 * new[name] > 125 * old[name]
    ]
