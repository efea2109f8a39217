"""A script with errors and warnings; the numbers of its error lines add up to odd in odd worlds, to
even in even.

Its last diagnostic is an error, so that a loop that ends in a test ends with status 0.
"""

import json

from fluency.world import FINDINGS, Finding, When

JSON = {"Content-Type": "application/json"}
ERRORS = {
    "V207": (r"\bexec_raw\(", '    exec_raw("systemctl restart {unit}")'),
    "V301": (r"\bpassword *=", '    let password = "{unit}-pass"'),
    "V412": (r"== *null\b", "    if {unit}_state == null {{ return }}"),
}
WARNINGS = {
    "V110": (r"\bsleep\(", "    sleep({number})"),
    "V118": (r"\bTODO\b", "    // TODO move {unit} to the new lane"),
}
UNITS = ("mesh", "orchestrator", "relay", "scheduler", "telemetry", "worker")
USUAL = (
    "    check_health({unit})",
    "    drain({unit}, {number})",
    '    log("{unit} is ready")',
    "    let {unit}_state = status({unit})",
    "    scale({unit}, {number})",
    "    wait_for({unit}, {number})",
)


def extend(builder, rng):
    length = rng.between(37, 49)
    taken = rng.sample(range(3, length), 12)
    while sum(taken[:4]) % 2 != builder.odd or max(taken[:7]) != max(taken[:4]):
        taken = rng.sample(range(3, length), 12)
    errors = [ERRORS[code][1] for code in rng.shuffled((*ERRORS, rng.pick(tuple(ERRORS))))]
    warnings = [WARNINGS[code][1] for code in rng.shuffled((*WARNINGS, rng.pick(tuple(WARNINGS))))]
    special = dict(zip(taken, [*errors, *warnings, *[""] * 5], strict=True))
    lines = ["// deploys the services of one host", ""]
    for number in range(3, length):
        form = special[number] if number in special else rng.pick(USUAL)
        lines.append(form.format(unit=rng.pick(UNITS), number=rng.between(2, 60)))
    builder.file("ops/deploy.vox", "\n".join([*lines, "done()"]) + "\n")
    rules = [
        Finding(pattern, {"code": code, "severity": severity})
        for severity, codes in (("error", ERRORS), ("warning", WARNINGS))
        for code, (pattern, _) in codes.items()
    ]
    body = f'{{"diagnostics": {FINDINGS}}}'.encode()
    text = When(headers={"Content-Type": "text/plain"})
    builder.route("/api/lint", 422, JSON, body, method="POST", when=text, findings=rules)
    refused = json.dumps({"error": "send the text as text/plain"}).encode()
    builder.route("/api/lint", 415, JSON, refused, method="POST")
    builder.route(
        "/api/lint",
        404,
        {"Content-Type": "text/plain; charset=utf-8"},
        b"not found\n",
        method="PUT",
    )
