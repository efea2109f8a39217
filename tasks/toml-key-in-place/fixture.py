"""Settings of a relay with CRLF, full of numbers that look like the one asked for; `workers` has
the seed's parity."""


def extend(builder, rng):
    def idle():
        return f"max_idle = {rng.between(2, 40)}"

    pool = rng.shuffled(
        [
            f"# {idle()}, says the manual",
            f"max_idle_seconds = {rng.between(60, 900)}",
            f"burst_max_idle = {rng.between(2, 40)}",
            f'reason = "{idle()} was too low"',
            'tags = ["[pool]", "max_idle"]',
            "",
        ]
    )
    before, after = " " * rng.between(2, 4), " " * rng.between(2, 3)
    asked = f"max_idle{before}={after}{rng.between(1, 4)}09  # a host, not {rng.between(2, 40)}"
    pool.insert(rng.between(2, 5), asked)
    tables = [
        ["# Relay", f"workers = {2 * rng.between(2, 20) + builder.odd}", idle()],
        ["[spool]  # not [pool]", idle()],
        ["[pool]", *pool],
        ["[pool.http]", idle()],
        ["[[pool.hosts]]", f'name = "relay-{rng.between(1, 99)}"', idle()],
        ["# [pool]", "[limits]", f"burst = {rng.between(2, 40)}", f"{idle()}  # as in [pool]"],
    ]
    text = "\r\n\r\n".join("\r\n".join(table) for table in tables)
    builder.file("config/relay.toml", text, crlf=True)
