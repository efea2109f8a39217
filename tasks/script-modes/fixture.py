"""Scripts, and files that look like scripts; which are which is drawn."""

NAMES = ("build", "check.sh", "deploy.py", "gen/api", "gen/docs.sh", "gen/deep/lint.rb", "release")
LINES = ("#!/bin/sh", "#!/usr/bin/env python3", "#!/usr/bin/env bash", "#! /usr/bin/ruby")


def extend(builder, rng):
    names = rng.shuffled(NAMES)
    for name in names[:4]:
        builder.file(f"tools/{name}", f"{rng.pick(LINES)}\necho {rng.below(1000)}\n")
    later, blank, plain = names[4:]
    builder.file(f"tools/{later}", f"# See below.\n{rng.pick(LINES)}\n")
    builder.file(f"tools/{blank}", f" {rng.pick(LINES)}\n")
    builder.file(f"tools/{plain}", "echo plain\n")
    builder.file("tools/.hooks/pre-push", f"{rng.pick(LINES)}\nexit 0\n")
    builder.file("tools/env.sh", "export LEVEL=3\n")
    builder.file("tools/empty.sh", "")
    builder.file("tools/install.sh", f"{LINES[0]}\necho {rng.below(1000)}\n")
    builder.file("tools/notes.md", "Scripts begin with #!\n#!/bin/sh\n")
