"""Apps and their config files, of which three turn tracing on in odd worlds and four in even
ones."""

from fluency.world import HelperSpec

ON, OFF = "tracing = on", "tracing = off"


def extend(builder, rng):
    def config(path, *lines):
        around = rng.shuffled(
            [f"workers = {rng.between(1, 9)}", f"name = app{rng.between(10, 99)}"]
        )
        builder.file(
            f"config/apps/{path}", "\n".join([around[0], *lines, around[1]]) + "\n", any_name=True
        )
        return f"config/apps/{path}"

    number = rng.between(10, 99)
    apart = str(rng.between(1000, 9999))
    blank = config(f"main app {number}.conf", ON)
    # As a pattern each of the two names the file after it, which says the opposite.
    pattern, other = f"web[eu]{number}.conf", f"job[eu]{number}.conf"
    bracket = config(pattern, ON)
    config(pattern.replace("[eu]", "e"), OFF)
    bracket_off = config(other, OFF)
    config(other.replace("[eu]", rng.pick("eu")), ON)
    plain = config(f"edge{number}.conf", rng.pick((OFF, f"# {ON}")), *([] if builder.odd else [ON]))
    comment = config(f"batch{number}.conf", f"# {ON}", "tracing = once")
    capitals = config(f"index {number}.conf", "TRACING = on")
    decoy = config(f"decoy{number}.conf", ON)
    vectors = [
        ("--port", apart, "--config", blank),
        (f"--config={bracket}", "--port", apart),
        (f"--config={bracket_off}", "--verbose"),
        ("--config-dir", "config/apps", f"--config={comment}"),
        ("--note", f"was --config {decoy} before", "--config", plain),
        ("--config", capitals, "--port", apart),
        ("--config", f"config/apps/gone {number}.conf"),
    ]
    apps = [HelperSpec(f"app-{place}", "vox-app", args) for place, args in enumerate(vectors)]
    apps.append(HelperSpec("app-gc", "vox-app-gc", ("--config", decoy)))
    # Last, so that the highest process id is one that is printed.
    last = HelperSpec(
        "app-last", "vox-app", (f"--config={decoy}", "--mode", rng.pick(("fast", "safe")))
    )
    for helper in (*rng.shuffled(apps), last):
        builder.process(helper)
