"""A CSV export of incidents: quoted titles and notes, four notes with a pasted row, one team
without a resolved record."""

TEAMS = ("billing", "db", "infra", "mesh", "ml")
OPEN = ("unresolved", "open", "mitigated")
TITLES = (
    "disk full",
    "queue stalled",
    "certificate expired",
    '"worker lost, again"',
    '"alert ""p95"" fired, twice"',
    '"moved,db,90,resolved,from the old board"',
    '"state ""ready"", then not ready"',
)
NOTES = (
    "",
    "",
    "see runbook",
    '"restarted, then drained"',
    '"set to ""resolved"", reopened"',
    '"a,b,c,45,resolved,"',
)


def extend(builder, rng):
    never, *teams = rng.shuffled(TEAMS)
    rows = [(team, "resolved") for team in teams for _ in range(rng.between(4, 7))]
    rows += [(never, rng.pick(OPEN)) for _ in range(5)]
    rows += [(rng.pick(teams), status) for status in OPEN for _ in range(rng.between(8, 9))]
    rows = rng.shuffled(rows)
    minutes = [rng.between(4, 600) for _ in rows]
    # The sum over all teams is odd in odd worlds and even in even ones.
    done = [number for number, (_, status) in enumerate(rows) if status == "resolved"]
    minutes[done[0]] += sum(minutes[number] for number in done) % 2 != builder.odd
    pasted = rng.sample(range(len(rows)), 4)
    lines = ["id,title,team,minutes,status,notes"]
    for number, (team, status) in enumerate(rows):
        notes = rng.pick(NOTES)
        if number in pasted:
            row = f"{rng.between(100, 999)},{rng.pick(TITLES[:3])},{rng.pick(TEAMS)},{rng.between(5, 300)},resolved,"
            notes = f'"copied from the old board:\n{row}\nend of copy, ""as it was"" then"'
        lines += [f"{1000 + number},{rng.pick(TITLES)},{team},{minutes[number]},{status},{notes}"]
    builder.file("data/incidents.csv", "\n".join(lines) + "\n")
