"""Sums by region, read from the served text by a CSV parser."""

import csv
import io
from collections import Counter


def expected(world, processes):
    text = world.route("/export/orders.csv").body.decode()
    sums = Counter()
    for row in csv.DictReader(io.StringIO(text, newline=""), strict=True):
        sums[row["region"]] += int(row["quantity"])
    return [f"{total} {region}" for region, total in sums.items()]
