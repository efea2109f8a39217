"""The rows with enough seats as JSON."""

import csv


def state(world, processes):
    rows = [
        {"name": row["name"], "team": row["team"], "seats": int(row["seats"])}
        for row in csv.DictReader(world.lines("data/seats.csv"))
        if int(row["seats"]) >= 10
    ]
    return {
        "data/seats.json": {"json": rows},
        "data/seats.csv": world.files["data/seats.csv"],
        "data": {"files": ["seats.csv", "seats.json"]},
    }
