"""Two environments: equal files, files changed in ways that a weak comparison misses, files of one
side only."""

ALWAYS = (".env", "feature flags.toml")
SHARED = (
    "env/flags.toml",
    "env/quotas.toml",
    "env/regions.toml",
    "k8s/base/ingress.yaml",
    "k8s/base/svc.yaml",
    "k8s/web.yaml",
    "notes/run book.md",
    "alerts/pager.toml",
    "alerts/rules/disk.toml",
    "alerts/rules/memory.toml",
    "Makefile",
    "mesh/peers.toml",
    "mesh/.lock.toml",
    "mesh/relay.toml",
    "secrets/README.md",
)
STAGING = ("preview/pr.yaml", "preview/app.yaml", "k8s/pager.toml", "env/debug.toml")
PRODUCTION = ("backup/cron.yaml", "env/limits.yaml", "env/secrets.toml", "k8s/debug.toml")


def extend(builder, rng):
    others = rng.shuffled(SHARED)
    changed = rng.pick((7,) if builder.odd else (6, 8)) - len(ALWAYS)
    # The changes that a weak comparison misses are in every world; all but one of them hit a nested
    # file.
    kinds = rng.shuffled([_digit, _case, _reversed, _line_more, _no_final_newline, _digit])
    kinds += rng.sample([_case, _line_more], 2)
    plan = dict(zip((*ALWAYS, *others[:changed]), kinds, strict=False))
    for number, name in enumerate((*ALWAYS, *others)):
        text = _text(rng)
        age = 9.0 + number
        builder.file(f"deploy/staging/{name}", text, age_days=age)
        builder.file(f"deploy/production/{name}", plan.get(name, str)(text), age_days=age + 0.5)
    text = _text(rng)
    builder.file("deploy/staging/bin/start.cmd", text)
    builder.file("deploy/production/bin/start.cmd", text.replace("\n", "\r\n"), crlf=True)
    for folder, names in (("staging", STAGING), ("production", PRODUCTION)):
        for name in names:
            builder.file(f"deploy/{folder}/{name}", _text(rng))


def _text(rng):
    return "".join(
        f"{key} = {rng.between(10, 99)}{key}\n"
        for key in rng.sample(("alpha", "beta", "gamma", "delta"), 3)
    )


def _digit(text):
    place = next(place for place, char in enumerate(text) if char.isdigit())
    return text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]


def _case(text):
    return text.capitalize()


def _reversed(text):
    return "".join(reversed(text.splitlines(keepends=True)))


def _line_more(text):
    return f"{text}extra = true\n"


def _no_final_newline(text):
    return text.removesuffix("\n")
