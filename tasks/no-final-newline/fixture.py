"""Service settings with and without a final line feed, empty ones, and some that end in a blank
line."""

ALWAYS = (".env", "log levels.toml", "telemetry/otel/export.yaml", "mesh/node-id")
OTHERS = (
    "limits.toml",
    "app.toml",
    "features.env",
    "mesh/relay.yaml",
    "mesh/known hosts",
    "mesh/tls/ca.pem",
    "telemetry/sinks.yaml",
    "models/.overrides.json",
    "models/routing.json",
    "models/registry.json",
    "db/migrations/0001.sql",
    "db/migrations/0002.sql",
    "db/pool.toml",
)
EMPTY = ("local.toml", "mesh/extra.yaml", "db/.gitkeep")


def extend(builder, rng):
    cut = rng.pick((5, 7) if builder.odd else (6, 8)) - len(ALWAYS)
    others = rng.shuffled(OTHERS)
    for number, name in enumerate((*ALWAYS, *others)):
        lines = [f"key{line} = {rng.below(1000)}" for line in range(rng.between(1, 6))]
        end = "\n"
        if number < len(ALWAYS) + cut:
            end = "  " if number % 3 == 1 else ""
        elif number < len(ALWAYS) + cut + 3:
            end = "\n\n"
        text = "\n".join(lines) + end
        crlf = number == len(ALWAYS) + len(OTHERS) - 1
        text = text.replace("\n", "\r\n") if crlf else text
        builder.file(f"config/services/{name}", "7" if name == "mesh/node-id" else text, crlf=crlf)
    for name in EMPTY:
        builder.file(f"config/services/{name}", "")
