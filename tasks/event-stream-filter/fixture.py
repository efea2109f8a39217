"""A stream of server-sent events with five deploys in odd worlds, four in even ones, each written
in another way."""

import json

SERVICES = ("mesh", "queue", "relay", "store", "index", "gate", "vault", "probe")
OTHERS = ("deploy-failed", "Deploy", "message", "predeploy", None)


def extend(builder, rng):
    ids = iter(range(rng.between(100, 900), 2000))

    def data():
        version = f"{rng.between(0, 3)}.{rng.between(0, 20)}.{rng.between(0, 20)}"
        fields = {
            "service": f"vox-{rng.pick(SERVICES)}",
            "version": version,
            "by": rng.pick(("ci", "ops")),
        }
        return {name: fields[name] for name in rng.shuffled(fields)}

    def one_line(blank=" "):
        return [f"data:{blank}{json.dumps(data())}"]

    def several_lines(blank=" "):
        return [f"data:{blank}{line.strip()}" for line in json.dumps(data(), indent=1).split("\n")]

    def deploy(lines, blank=" "):
        return [f"event:{blank}deploy", *lines]

    def other(kind):
        return [*([f"event: {kind}"] if kind else []), *rng.pick((one_line, several_lines))()]

    several = several_lines()
    deploys = [
        deploy(one_line()),
        deploy([several[0], ": data: follows", *several[1:3], f"id: {next(ids)}", *several[3:]]),
        [*one_line(), f"id: {next(ids)}", "event: deploy"],
        [f"id:{next(ids)}", *deploy(rng.pick((one_line, several_lines))(""), "")],
        *([[*several_lines(""), "event:deploy", ": done"]] if builder.odd else []),
    ]
    last, *rest = rng.shuffled(deploys)
    others = [other(kind) for kind in OTHERS]
    others += [
        ["data: event: deploy"],
        ["event: message", "data: event: deploy", "data: follows"],
        [": ping"],
    ]
    # An event without a type behind a deploy: the type does not stay.
    rest[0:1] = [rest[0] + [""] + one_line()]
    events = [["retry: 3000"], *rng.shuffled([*rest, *others]), last]
    body = "\n\n".join("\n".join(lines) for lines in events) + "\n\n"
    builder.route("/events", 200, {"Content-Type": "text/event-stream"}, body.encode())
