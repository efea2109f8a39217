"""Templates, and values that mean something to most programs; an odd number of templates in odd
worlds."""

TEXTS = (
    "listen {{HOST}}:{{PORT}};\nalias {{HOST_ALIAS}}{{SUFFIX}};",
    "root {{ROOT_DIR}}/{{HOST}};\n# {{ HOST }} and {PORT} and {{{PORT}}",
    "title = {{BANNER}}\nhelp = {{HELP}} or {{HELP}}",
    "match {{PATTERN}}\nto {{REWRITE}}",
    "token={{TOKEN}}\nuser={{USER_NAME}}",
    "share={{UNC_PATH}}\ntwice={{PORT}}{{PORT}} {{HOST}}",
    "old={{OLD_TOKEN}}\npair={{SUFFIX}}|{{BANNER}}|{{REWRITE}}",
    "quote=\"{{UNC_PATH}}\" '{{PATTERN}}' `date`\npath=$HOME {{ROOT_DIR}}",
)
FOLDERS = ("", "web/", "web/sites/", "on call/")


def extend(builder, rng):
    def number():
        return rng.between(100, 9999)

    site = rng.pick(("bergen", "cork", "ghent", "porto"))
    values = [
        f"HOST={site}{number()}.example.net",
        f"HOST_ALIAS={site}-{number()}",
        f"PORT={number()}",
        f"ROOT_DIR=/srv/{site}/www",
        f"BANNER=Fish & chips | #{number()}",
        rf"PATTERN=^/(\d+)/\1{number()}$",
        f"REWRITE=/new/$1/{number()}?a=$&",
        f"TOKEN={rng.bytes(9).hex()}==",
        rf"UNC_PATH=\\{site}\share\new\{number()}",
        "HELP=see {{HOST}}:{{PORT}}",
        "SUFFIX=",
    ]
    head, *rest = rng.shuffled(values)
    lines = ["# One site", head, "#OLD_TOKEN=none", *rest]
    builder.file("deploy/site.env", "\n".join(lines) + "\n")

    count = 7 + (not builder.odd)
    names = rng.sample(
        ["cache", "gate", "mail", "proxy", "queue", "search", "static", "vhost"], count
    )
    for place, (name, text) in enumerate(zip(names, TEXTS, strict=False)):
        end = "\n" if place % 3 else ""
        path = f"templates/{FOLDERS[place % 4]}{name}.{rng.pick(('conf', 'ini', 'service'))}.tmpl"
        builder.file(path, f"{text}\n{rng.pick(TEXTS)}\n\nid={number()}{end}")
    builder.file("templates/web/mime.types", "# {{HOST}}\n")
    builder.file("templates/notes.tmpl.md", "{{PORT}}\n")
