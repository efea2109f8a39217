"""Backups that are not the latest of their service in their ISO week."""

import re
from datetime import date

NAME = re.compile(r"backups/(.+)-(\d{4})(\d\d)(\d\d)-(\d{4})\.tar\.zst")


def expected(world, processes):
    weeks = {}
    for path in world.under("backups"):
        if found := NAME.fullmatch(path):
            service, *day, time = found.groups()
            made = date(*map(int, day))
            weeks.setdefault((service, *made.isocalendar()[:2]), []).append((made, time, path))
    return [path for own in weeks.values() for _, _, path in sorted(own)[:-1]]
