"""The three crates with the most downloads among those not yanked, most first, from the served bytes."""

import json


def expected(world, processes):
    crates = [
        crate
        for crate in json.loads(world.route("/api/crates").body)["crates"]
        if not crate["yanked"]
    ]
    return [crate["name"] for crate in sorted(crates, key=lambda crate: -crate["downloads"])[:3]]
