"""A crontab of thirty entries, of which an odd number is due in odd worlds and an even one in even
worlds."""

NAMES = (
    "archive audit backup bill compact digest drain export fetch flush index invoice ledger mail metrics mirror notify "
    "prune publish purge reindex replicate report reset rotate scan scrub seal snapshot sweep sync tally trim vacuum"
)


def extend(builder, rng):
    low, high = rng.between(1, 4), rng.between(16, 22)
    start, step = rng.pick(((10, 20), (2, 14), (6, 12), (5, 25), (14, 16)))
    # Of each of these one entry: 14:30 on Friday, 15 May 2026.
    due = [
        f"{rng.pick(('*/15', '*/10', '*/6'))} {rng.pick(('*', '*/2', '*/7'))} * * *",
        f"{start}-59/{step} {low}-{high} * * *",
        f"30 {rng.pick(('2-22/4', '6-20/8', '4-23/5'))} * * *",
        f"0-{rng.between(5, 12)},{rng.between(20, 29)}-{rng.between(31, 50)} {rng.pick(('8-10,13-15', '14', '9-17'))} * * *",
        f"30 14 {rng.pick(('15', '1,15', '10-20'))} * {rng.pick(('1', '0', '2-4', '6,7'))}",
        f"30 14 {rng.pick(('1', '13', '2,16', '20-28'))} * {rng.pick(('5', '1-5', '5,7'))}",
        f"30 14 {rng.pick(('*/2', '*/7', '3-27/6'))} * *",
        f"30 14 * {rng.pick(('*/2', '*/4', '3-9/2', '5,11'))} *",
        f"*/5 14 * {rng.pick(('3-6', '1-11', '5'))} {rng.pick(('*/5', '1-5', '3,5'))}",
    ]
    more = [f"30 14 * * {rng.pick(('5', '4-6', '2-7/3'))}", "30,45 12-16/2 * * *", "0,30 * 15 5 *"]
    due += rng.sample(more, rng.pick((0, 2) if builder.odd else (1, 3)))
    other = [
        f"{rng.pick(('*/4', '*/7', '*/20'))} 14 * * *",
        f"{rng.pick(('15-45/10', '1-59/15', '13-59/6', '20-50/20'))} 14 * * *",
        f"30 {rng.pick(('1-23/2', '3-21/7', '*/4'))} * * *",
        f"14 {rng.pick(('13', '15', '14'))} * * *",
        f"30 {rng.pick(('4', '1', '1,4', '15'))} * * *",
        f"{rng.pick(('3', '0', '3,0', '29,31'))} 14 * * *",
        f"30 14 {rng.pick(('5', '1', '1,5', '14'))} * *",
        f"30 14 {rng.pick(('*/5', '*/3', '2-30/2'))} * *",
        f"30 14 * {rng.pick(('*/5', '6-12', '3-12/5', '1-4'))} *",
        f"30 14 * * {rng.pick(('7', '0', '6,7', '1-4'))}",
        f"30 14 * * {rng.pick(('*/2', '*/3', '1-7/3'))}",
        f"30 14 {rng.pick(('13', '1,16', '16-31'))} * {rng.pick(('1', '7', '0-4'))}",
        f"30 14 15 {rng.pick(('6', '4', '1-4'))} {rng.pick(('5', '1', '*'))}",
        f"30 14 1 {rng.pick(('6', '1', '7-12'))} 5",
        f"{rng.pick(('15', '5-25', '31-59'))} 14 15 5 5",
        f"15 {rng.pick(('5', '14'))} 30 * *",
        f"*/10 {rng.pick(('15-23', '0-13'))} * * 5",
    ]
    names = iter(rng.shuffled(NAMES.split()))

    def entry(when):
        fields = "  ".join(when.split(" ")) if rng.chance(20) else when
        return (
            f"{fields} /opt/vox/bin/{next(names)}{rng.pick(('', ' --quiet', ' 14:30', ' -n 15'))}"
        )

    last, *others = rng.shuffled(due)
    lines = [entry(when) for when in rng.shuffled([*others, *other])]
    lines.insert(rng.below(5), "@daily /opt/vox/bin/rollup")
    lines.insert(rng.below(9), f"# {rng.pick(due)} /opt/vox/bin/{next(names)}")
    lines.insert(rng.below(14), f"#30 14 * * * /opt/vox/bin/{next(names)}")
    lines.append(entry(last))
    head = [
        "# m h dom mon dow command",
        "MAILTO=ops",
        "PATH=/usr/bin:/bin",
        "",
        "# The jobs of the mesh",
    ]
    builder.file("ops/crontab", "\n".join([*head, *lines]) + "\n")
