"""Numbers that several migrations have."""

import re
from collections import Counter

MIGRATION = re.compile(r"db/migrations/(\d{4})_[^/]+\.sql")


def expected(world, processes):
    counts = Counter(found[1] for path in world.files if (found := MIGRATION.fullmatch(path)))
    return [number for number, count in counts.items() if count > 1]
