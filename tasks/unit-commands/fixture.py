"""Services, each with other drop-ins; the number of their commands has the seed's parity."""

NAMES = ["anchor", "bridge", "cable", "dock", "engine", "ferry", "harbor", "lock"]
UNIT = """[Unit]
Description={name}, formerly ExecStart={old}

[Service]
ExecStartPre=/bin/mkdir -p /run/{name}
{starts}
#ExecStart={old}
ExecStop=/srv/{name}/stop

[Install]
WantedBy=multi-user.target
"""


def extend(builder, rng):
    def command(name):
        option = rng.pick(("--port=", "--shard ", "-n ", "--listen=[::]:"))
        return f"/srv/{name}/{rng.pick(('run', 'serve'))} {option}{rng.between(2, 9999)}"

    def start(name):
        return f"ExecStart{rng.pick(('=', ' = '))}{command(name)}"

    def unit(name, *starts):
        text = UNIT.format(name=name, old=command(name), starts="\n".join(starts))
        builder.file(f"units/{name}.service", text)

    def drop_in(name, file, *lines):
        builder.file(f"units/{name}.service.d/{file}", "\n".join(lines) + "\n")

    names = rng.shuffled(NAMES)
    plain, once, twice, more, emptied, within, elsewhere, unknown = names
    for name in (plain, once, twice, more, emptied, elsewhere):
        unit(name, start(name))
    unit(within, start(within), "ExecStart=", start(within), start(within))

    service = "[Service]"
    lines = (f"; ExecStart={command(once)}", "ExecStart=", start(once), "Restart=always")
    drop_in(once, "20-start.conf", service, *lines)
    drop_in(once, "README", service, "ExecStart=", start(once))
    # By bytes 9- comes last; its second section does not count.
    drop_in(twice, "10-start.conf", service, "ExecStart=", start(twice))
    other = ("[Unit]", start(twice))
    drop_in(twice, "9-start.conf", service, "ExecStart =", start(twice), "", *other)
    added = [start(more) for _ in range(2 - builder.odd)]
    drop_in(more, "30-more.conf", service, "Nice=5", *added)
    limit = f"LimitNOFILE={rng.between(1000, 9999)}"
    drop_in(more, "40-limits.conf", service, limit, f"Execstart={command(more)}")
    drop_in(emptied, "15-none.conf", service, "ExecStart=")
    drop_in(emptied, "60-start.conf", service, start(emptied))
    # Before its first section; the file before it ends in [Service].
    drop_in(emptied, "70-nice.conf", "ExecStart=", start(emptied), service, "Nice=1")
    drop_in(elsewhere, "50-notes.conf", "[X-Notes]", "ExecStart=", start(elsewhere))
    drop_in(elsewhere, "70-start.conf.off", service, "ExecStart=", start(elsewhere))
    drop_in(elsewhere, "90-start.conf", "[service]", "ExecStart=", start(elsewhere))
    drop_in(unknown, "20-start.conf", service, "ExecStart=", start(unknown))
    builder.file(f"units/{plain}.timer", "[Timer]\nOnCalendar=daily\n")
    text = f"{service}\nExecStart=\n{start(plain)}\n"
    builder.file(f"units/{plain}.timer.d/20-start.conf", text)
