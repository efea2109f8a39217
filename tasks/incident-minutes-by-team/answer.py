"""Minutes of the resolved records for each team, read with a CSV parser."""

import csv
import io
from collections import Counter


def expected(world, processes):
    minutes = Counter()
    for record in csv.DictReader(io.StringIO(world.text("data/incidents.csv"), newline="")):
        if record["status"] == "resolved":
            minutes[record["team"]] += int(record["minutes"])
    return [f"{team} {total}" for team, total in minutes.items()]
