"""Bytes of memory that the containers of running pods request, by namespace, in exact fractions."""

import json
import re
from collections import Counter
from fractions import Fraction

POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3}
QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(?:e(\d+))?([kKMG]?)(i?)")


def expected(world, processes):
    sums = Counter()
    for pod in json.loads(world.text("data/pods.json"))["items"]:
        if pod["status"]["phase"] == "Running":
            for container in pod["spec"]["containers"]:
                memory = container.get("resources", {}).get("requests", {}).get("memory", "0")
                sums[pod["metadata"]["namespace"]] += _bytes(memory)
    return [f"{namespace} {total}" for namespace, total in sums.items() if total]


def _bytes(quantity):
    number, exponent, letter, binary = QUANTITY.fullmatch(quantity).groups()
    value = Fraction(number) * 10 ** int(exponent or 0)
    value *= (1024 if binary else 1000) ** POWERS[letter]
    assert value.denominator == 1
    return int(value)
