"""The errors that the service's rules find in the script as it stands."""

import re


def expected(world, processes):
    (checks,) = [route for route in world.routes_at("/api/lint", "POST") if route.findings]
    return [
        f"{number} {rule.fields['code']}"
        for number, line in enumerate(world.lines("ops/deploy.vox"), 1)
        for rule in checks.findings
        if rule.fields["severity"] == "error" and re.search(rule.pattern, line)
    ]
