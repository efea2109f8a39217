"""Events of five days in March 2026, with a change of the zone's offset; the number of openings has
the seed's parity.

Days of UTC and days of each of the two offsets all give other counts.
"""

import json
from datetime import UTC, datetime

FIRST = round(datetime(2026, 3, 6, tzinfo=UTC).timestamp())
BETWEEN = {1: 3, 2: 2, 3: 4, 4: 1, 5: 2}
"""Day -> events between 02:30 and 03:30 UTC, when the day depends on the offset."""
EARLY = {1: 1, 2: 3, 3: 2, 4: 5, 5: 1}
"""Day -> events before that, which belong to the day before."""
CHANGE = ((2, 215), (2, 329), (2, 331))
"""Day and minute, about the change at 05:30."""


def extend(builder, rng):
    def event(day, minute, kind="open"):
        ms = (FIRST + 86_400 * day + 60 * minute) * 1000 + rng.below(60_000)
        return {"kind": kind, "ms": ms, "door": rng.pick(("north", "south", "gate", "dock"))}

    events = [event(*place) for place in CHANGE]
    events += [event(day, rng.between(152, 208)) for day, n in BETWEEN.items() for _ in range(n)]
    events += [event(day, rng.between(1, 148)) for day, n in EARLY.items() for _ in range(n)]
    for _ in range(18 + (len(events) % 2 != builder.odd)):
        events.append(event(rng.below(5), rng.between(220, 1430)))
    others = [kind for kind in ("close", "open-forced", "reopen", "Open") for _ in range(5)]
    events += [event(rng.below(5), rng.below(1440), kind) for kind in others]
    for note in ("open", "kind: open", '"kind": "open"'):
        events.append({"note": note, **event(2, rng.below(1440), "close")})
    rows = [json.dumps(dict(rng.shuffled(list(row.items())))) for row in rng.shuffled(events)]
    builder.file("logs/doors.jsonl", "\n".join(rows) + "\n")
