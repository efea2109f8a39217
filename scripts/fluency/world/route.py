"""One answer of the loopback service, and the few rules by which it may depend on the request. All of it is data."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# What stands in a body where the service puts what it found in the request, and the id of the job that it started.
FINDINGS = "@findings@"
JOB = "@job@"


@dataclass(frozen=True)
class When:
    """What a request must have for a route to answer it: all that is stated; nothing by default.

    `query` and `headers` are values by name, None for any value. A query is decoded as a form is; the names of headers
    count in any case, and of a Content-Type only the media type. `json` is the JSON text of what the body must hold.
    """

    query: Mapping[str, str | None] = field(default_factory=dict)
    headers: Mapping[str, str | None] = field(default_factory=dict)
    json: str | None = None

    def document(self) -> dict[str, Any]:
        """What it states, as JSON-ready data."""
        said = {"query": dict(self.query), "headers": dict(self.headers), "json": self.json}
        return {name: value for name, value in said.items() if value}


@dataclass(frozen=True)
class Finding:
    """What is said of every line of the request's body in which `pattern` (of Python's re) is found: these `fields`,
    and its number as `line`."""

    pattern: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class Job:
    """What every request starts anew, with an id that begins with `name`.

    GET of `under` followed by the id answers with the next of `steps` (JSON texts), and with the last one for ever.
    """

    under: str
    name: str
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Route:
    """One answer of the service at 127.0.0.1:PORT. HEAD is answered like GET, without the body, unless it has a route.

    Of the routes of one method and path the first answers whose `when` holds. An ETag among the `headers` is held
    against If-None-Match as RFC 9110 says.
    """

    method: str
    path: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    when: When = When()
    findings: tuple[Finding, ...] = ()
    job: Job | None = None

    def rules(self) -> dict[str, Any]:
        """What it states beside the five plain fields, as JSON-ready data: empty for a route that has no more."""
        said: dict[str, Any] = {}
        if list(self.headers) != sorted(self.headers):  # JSON with sorted keys would lose the order they are sent in
            said["header_order"] = list(self.headers)
        if when := self.when.document():
            said["when"] = when
        if self.findings:
            rules = [{"pattern": finding.pattern, "fields": dict(finding.fields)} for finding in self.findings]
            said["findings"] = {"mark": FINDINGS, "rules": rules}
        if self.job:
            steps = list(self.job.steps)
            said["job"] = {"mark": JOB, "under": self.job.under, "name": self.job.name, "steps": steps}
        return said

    def document(self) -> dict[str, Any]:
        """The route as JSON-ready data, its body in base64: what an archive keeps and the sandbox serves."""
        body = base64.b64encode(self.body).decode()
        plain = {"method": self.method, "path": self.path, "status": self.status, "headers": dict(self.headers)}
        return plain | {"body": body} | self.rules()

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Route:
        """The route of a document; KeyError, TypeError, ValueError or AttributeError if it is of none."""
        headers, body = said["headers"], base64.b64decode(said["body"], validate=True)
        when, found, job = said.get("when", {}), said.get("findings", {}).get("rules", []), said.get("job")
        return cls(
            said["method"],
            said["path"],
            said["status"],
            {name: headers[name] for name in said.get("header_order", headers)},
            body,
            When(when.get("query", {}), when.get("headers", {}), when.get("json")),
            tuple(Finding(rule["pattern"], rule["fields"]) for rule in found),
            Job(job["under"], job["name"], tuple(job["steps"])) if job else None,
        )
