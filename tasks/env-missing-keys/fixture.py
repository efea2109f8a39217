"""An example env file and a deployed one that lacks keys in several ways, each of which looks like
having them.

The last key of the example is missing, so that a loop that ends in a test ends with status 0.
"""

KEYS = (
    "API_URL",
    "CACHE_TTL",
    "DB_PATH",
    "LOG_FORMAT",
    "LOG_LEVEL",
    "MESH_PORT",
    "OTEL_ENDPOINT",
    "QUEUE_SIZE",
    "RATE_LIMIT",
    "SMTP_PORT",
    "TLS_CERT",
    "TLS_KEY",
)


def extend(builder, rng):
    keys = rng.shuffled(KEYS)
    commented, in_value, longer, bare = keys[:4]
    missing = ["S3_BUCKET", *keys[:4], "http_proxy", "CDN_REGION"]
    common = [*keys[4:], "REGION", "PUBLIC_BASE_URL"]
    (missing if builder.odd else common).append("BASE_URL")
    end = missing.pop(rng.below(7))
    example = [_line(rng, key) for key in (*rng.shuffled([*missing, *common]), end)]
    undefined = [
        "",
        f"#{rng.pick(('SENTRY_DSN', 'STATSD_HOST'))}=",
        " # DEBUG=1",
        "STRICT_MODE = off",
    ]
    example[:0] = ["# Copy this file and fill it in.", *undefined]
    builder.file("config/.env.example", "\n".join(example) + "\n")
    last, *others = rng.shuffled(common)
    lines = [_line(rng, key) for key in others]
    lines += [
        rng.pick(("# ", "  #", "#")) + f"{commented}=7",
        f"WORKER_OPTS=--set {in_value}={rng.below(100)}",
        f"{longer}_FALLBACK={rng.below(100)}",
        bare,
        "HTTP_PROXY=http://proxy.invalid:3128",
        "export NODE_NAME=vox-1",
        "\tPAGER=less",
    ]
    # The last line has no line feed and defines a key of the example.
    builder.file(
        "config/production.env", "\n".join(["# production", "", *rng.shuffled(lines), f"{last}=1"])
    )


def _line(rng, key):
    start = rng.pick(("", "", "", "export ", "export\t", "  ", "\t", "  export  "))
    return (
        f"{start}{key}={rng.pick(('1', 'on', '', 'a=b', '/var/lib/vox', 'https://vox.invalid/'))}"
    )
