"""Scripts whose first lines are written in all ways; an odd number lacks its interpreter in odd
worlds."""

LISTED = ("awk", "bash", "deno2", "env", "node", "python3")
ABSENT = ("lua", "perl5", "python", "ruby", "tclsh", "deno")
"""Two are the beginning of a listed name."""


def extend(builder, rng):
    def absent():
        return rng.pick(ABSENT)

    def listed():
        return rng.pick(("bash", "deno2", "node", "python3"))

    lacking = [
        f"#!/usr/bin/{absent()}",
        f"#! /usr/local/bin/{absent()} -u",
        f"#!/opt/{listed()}/bin/python",
        f"#!/usr/bin/deno --allow {listed()}",
        "#!/usr/bin/env lua-jit",
        f"#!  /usr/bin/env -S {absent()} --with {listed()}",
        f"#!/usr/bin/env -i -S {absent()}",
        f"#!/bin/{absent()} /usr/bin/{listed()}",
    ]
    lacking += [f"#!/usr/bin/env {absent()} {listed()}"] * builder.odd
    others = [
        f"#!/bin/{listed()}",
        f"#! /usr/bin/{listed()} -e",
        f"#!/usr/bin/env {listed()}",
        f"#!/usr/bin/env -S {listed()} --with {absent()}",
        f"#!/opt/{absent()}/bin/{listed()} {absent()}",
        # No scripts.
        f"echo begin\n#!/usr/bin/{absent()}",
        f" #!/usr/bin/{absent()}",
        f"# !/usr/bin/{absent()}",
        f"echo '#!/usr/bin/{absent()}'",
        "",
    ]
    folders = ("", "nightly/", "nightly/old/", ".hooks/", "by hand/")
    for number, line in enumerate(rng.shuffled([*lacking[1:], *others])):
        rest = f"\necho {rng.below(1000)}\n#!/usr/bin/{absent()}\n" if line else ""
        name = rng.pick((f"job-{number:02d}.sh", f".job-{number:02d}", f"job {number:02d}"))
        builder.file(f"scripts/{folders[number % 5]}{name}", line + rest)
    # The last one by name, for loops that end in a test.
    builder.file("scripts/zz/last", f"{lacking[0]}\necho {rng.below(1000)}\n")
    names = rng.shuffled(LISTED)
    builder.file("ops/interpreters.txt", "\n".join(names) + "\n")
