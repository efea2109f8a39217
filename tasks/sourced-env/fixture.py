"""Two files of assignments; the port is odd in odd worlds and even in even ones."""


def extend(builder, rng):
    port = 2 * rng.between(3600, 4400) + builder.odd
    site = rng.pick(("bergen", "cork", "ghent", "porto"))
    both = [
        [
            f"RELAY_HOST={site}{rng.between(1, 9)}.example.net",
            f"RELAY_PORT={port + 1}",
            "export SCHEME=http",
        ],
        ['URL="$SCHEME://${RELAY_HOST}:$RELAY_PORT/v1"'],
    ]
    mixed = [
        [f"QUEUE_FLAGS={rng.pick(('--fast', '--fair'))}"],
        [f"LABEL='$RELAY_HOST #{rng.between(1, 99)}'", 'BANNER="Site ${LABEL} now"'],
        [f"MODE={rng.pick(('steady', 'burst'))} # or {rng.pick(('drain', 'off'))}"],
        [f"CHANNEL=stable#{rng.between(2, 9)}"],
        ["EXTRA_ARGS="],
        [f"#OLD_PORT={rng.between(1000, 9999)}"],
        [f"export WORKERS={rng.between(2, 64)}"],
        [f'MOTTO="{rng.pick(("one", "two"))} # of {rng.between(3, 9)}" # shown at start'],
    ]
    base = [line for group in [*both, *rng.shuffled(mixed)] for line in group]
    mixed = [
        [f"RELAY_PORT={port}"],
        [f"export SCHEME={rng.pick(('https', 'wss'))}"],
        [
            'QUEUE_FLAGS="$QUEUE_FLAGS --trace"',
            'export QUEUE_FLAGS="${QUEUE_FLAGS} --retry=' + f'{rng.between(2, 9)}"',
        ],
        [f"export REGION=eu-{rng.between(1, 9)}", "ZONE=${REGION}b"],
        [f"# DEBUG_LEVEL={rng.between(1, 5)}"],
        ["HEALTH_URL=$URL/healthz"],
        ["TITLE=$LABEL"],
    ]
    local = [line for group in rng.shuffled(mixed) for line in group]
    builder.file("deploy/base.env", "\n".join(["# What every site starts with", *base]) + "\n")
    builder.file("deploy/local.env", "\n".join(["# This site", "", *local]) + "\n")
