"""The image's own modules: which answer a request gets, and how a tree's tar is read."""

import base64
import json
import time

import pytest

from fluency.world import FINDINGS, JOB, Builder, Finding, Job, When, build_world
from tests.execution.run_it import of_the_sandbox

JSON = {"Content-Type": "application/json"}

ROUTES, TREE = of_the_sandbox("routes"), of_the_sandbox("tree")


class Service:
    """Routes as a fixture adds them, asked as the service asks them."""

    def __init__(self):
        self._table = None
        self.builder = Builder(build_world(24), "test")
        self.builder.routes.clear()
        self.add = self.builder.route

    def ask(self, target, method="GET", body=b"", **head):
        if self._table is None:
            documents = [route.to_json() for route in self.builder.finish().http]
            for document in documents:
                document["body"] = base64.b64decode(document["body"])
            self._table = ROUTES.Routes(documents)
        given = {name.lower().replace("_", "-"): value for name, value in head.items()}
        return self._table.answer(method, target.encode(), given, body)

    def said(self, *asked):
        status, _, answer = self.ask(*asked)
        return status, json.loads(answer)


@pytest.fixture
def service():
    return Service()


def test_routes_by_path_and_method(service):
    service.add("/a", 200, JSON, b"a")
    service.add("/a", 201, {}, b"made", method="POST")
    for target in ("/a", "/a?page=2", "http://127.0.0.1:8765/a"):
        assert service.ask(target)[::2] == (200, b"a")
    assert service.ask("/a", "POST")[::2] == (201, b"made")
    assert service.ask("/a", "HEAD")[:2] == service.ask("/a")[:2]
    status, headers, _ = service.ask("/a", "DELETE")
    assert (status, headers["Allow"]) == (405, "GET, POST") and service.ask("/b")[0] == 404


def test_routes_with_only_refusals_allow_no_method(service):
    service.add("/file", 200, {}, b"x")
    service.add("/file", 405, {"Allow": "GET"}, method="HEAD")
    service.add("/lint", 200, {}, method="POST")
    service.add("/lint", 404, {}, b"not found\n", method="PUT")
    service.add("/gone", 404, {})
    assert service.ask("/file", "HEAD")[0] == 405
    assert service.ask("/file", "POST")[1]["Allow"] == "GET"
    assert service.ask("/lint", "PUT")[0] == 404 and service.ask("/lint")[1]["Allow"] == "POST"
    assert service.ask("/gone", "POST")[0] == 404


@pytest.mark.parametrize(
    "query, value",
    [
        *[(query, "second") for query in ("after=7f", "per_page=100&after=7f", "after=%37%66&x")],
        *[(query, "unknown") for query in ("after=7F", "after=", "after=no&after=7f")],
        *[(query, "first") for query in ("per_page=7", "", "AFTER=7f")],
    ],
)
def test_routes_first_whose_query_holds(service, query, value):
    for when, said in (({"after": "7f"}, "second"), ({"after": None}, "unknown"), ({}, "first")):
        service.add("/list", 200, JSON, json.dumps(said).encode(), when=When(query=when))
    assert service.said(f"/list?{query}") == (200, value)


@pytest.mark.parametrize(
    "sent, meant",
    [
        ("a%20b", "a b"), ("a+b", "a b"), ("a%2Bb", "a+b"), ("100%25", "100%"), ("100%", "100%"),
        ("a=b=c", "a=b=c"), ("50% off", "50% off"), ("%zz%4", "%zz%4"), ("%C3%BC", "\u00fc"), ("%FF", "\ufffd"),
    ],
)  # fmt: skip
def test_form_fields_decode_escapes(sent, meant):
    assert ROUTES.form_fields(f"q={sent}".encode()) == {"q": meant}


def test_routes_header_name_in_any_case(service):
    service.add("/usage", 200, {}, when=When(headers={"Authorization": "Bearer T=="}))
    service.add("/usage", 401, {})
    assert service.ask("/usage", authorization="Bearer T==")[0] == 200
    for other in ("Bearer T=", "bearer T==", "Bearer T== ", ""):
        assert service.ask("/usage", authorization=other)[0] == 401
    assert service.ask("/usage")[0] == 401


@pytest.mark.parametrize(
    "content_type, body, status",
    [
        ("application/json", b'{"kind": "usage"}', 202),
        ("Application/JSON; charset=utf-8", b'{\n  "kind":"usage"\n}\n', 202),
        ("application/json", b'{"kind": "usage", "more": 1}', 400),
        ("application/json", b'["usage"]', 400),
        ("application/json", b"kind=usage", 400),
        ("application/json", b"[" * 100_000, 400),
        ("application/x-www-form-urlencoded", b'{"kind": "usage"}', 400),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_routes_body_as_json(service, content_type, body, status):
    asked = When(headers={"Content-Type": "application/json"}, json='{"kind": "usage"}')
    service.add("/exports", 202, {}, method="POST", when=asked)
    service.add("/exports", 400, {}, method="POST")
    assert service.ask("/exports", "POST", body, content_type=content_type)[0] == status


def test_findings_in_lines_of_a_body(service):
    rules = [Finding(r"== *null\b", {"code": "V4"}), Finding("TODO", {"code": "V1"})]
    body = f'{{"found": {FINDINGS}}}'.encode()
    service.add("/lint", 422, JSON, body, method="POST", findings=rules)
    three = [{"line": 2, "code": "V1"}, {"line": 4, "code": "V4"}, {"line": 4, "code": "V1"}]
    for text, found in (
        (b"ok\nTODO\n\nx ==null TODO", three),
        (b"ok\r\nTODO\r\n\r\nx ==null TODO\r\n\r\n", three),
        (b"TODO TODO \xff", [{"line": 1, "code": "V1"}]),
        (b"", []),
    ):
        assert service.said("/lint", "POST", text) == (422, {"found": found})


def test_routes_job_has_its_own_steps(service):
    steps = tuple(json.dumps({"id": JOB, "rows": rows}) for rows in (0, 5, 9))
    body, job = f'{{"id": "{JOB}"}}'.encode(), Job("/jobs/", "x7", steps)
    service.add("/jobs", 202, JSON, body, method="POST", job=job)
    first, second = (service.said("/jobs", "POST")[1]["id"] for _ in range(2))
    assert (first, second) == ("x7-1", "x7-2")
    assert [service.said(f"/jobs/{first}")[1]["rows"] for _ in range(5)] == [0, 5, 9, 9, 9]
    assert [service.ask(f"/jobs/{second}", "HEAD")[0] for _ in range(9)] == [200] * 9
    assert service.said(f"/jobs/{second}?again") == (200, {"id": second, "rows": 0})
    refused = service.ask(f"/jobs/{second}", "DELETE")
    assert refused[0] == 405 and refused[1] == service.ask("/jobs/x7-1", "PUT")[1]
    assert service.ask("/jobs/x7-3")[0] == service.ask('/jobs/"x7-1"')[0] == 404


@pytest.mark.parametrize(
    "tag, asked, status",
    [
        *[('"a"', asked, 304) for asked in ('"a"', 'W/"a"', '"b", "a"', "*")],
        *[('W/"a"', '"a"', 304), ('"a"', '"A"', 200), ('"a-gzip"', '"a"', 200), ('"a"', "a", 200)],
    ],
)
@pytest.mark.parametrize("spelling", ["ETag", "etag"])
def test_routes_known_entity_tag_is_304(service, tag, asked, status, spelling):
    service.add("/doc", 200, {"X-Origin-ETag": '"o"', spelling: tag}, b"text")
    answered, headers, body = service.ask("/doc", if_none_match=asked)
    assert (answered, body) == (status, b"" if status == 304 else b"text")
    assert list(headers.items()) == [("X-Origin-ETag", '"o"'), (spelling, tag)]
    assert service.ask("/doc", "HEAD", if_none_match=asked)[0] == status


def test_routes_304_needs_tag_and_success(service):
    service.add("/plain", 200, {})
    service.add("/wrong", 500, {"ETag": '"a"'})
    service.add("/post", 200, {"ETag": '"a"'}, method="POST")
    assert [service.ask(path, if_none_match="*")[0] for path in ("/plain", "/wrong")] == [200, 500]
    assert service.ask("/post", "POST", if_none_match="*")[0] == 200


def test_write_tree_with_times(tmp_path):
    files = {"a/b/é": b"1", "a/empty": b"", "z": b"\xff" * 3}
    tree = [["a", None], ["a/b", None], *[[path, len(data)] for path, data in files.items()]]
    TREE.write(str(tmp_path), tree, b"".join(files.values()), {"a": 3600, "z": 60, ".": 5})
    assert {path: (tmp_path / path).read_bytes() for path in files} == files
    ages = {name: time.time() - (tmp_path / name).stat().st_mtime for name in ("a", "z", ".")}
    assert {name: round(age / 30) * 30 for name, age in ages.items()} == {
        "a": 3600,
        "z": 60,
        ".": 0,
    }
