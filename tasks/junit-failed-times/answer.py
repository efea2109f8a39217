"""Time and name of each test case that has a failure, longest first, read with an XML parser."""

from decimal import Decimal
from xml.etree import ElementTree


def expected(world, processes):
    cases = ElementTree.fromstring(world.text("target/nextest/ci/junit.xml")).iter("testcase")
    failed = [case for case in cases if case.find("failure") is not None]
    failed.sort(key=lambda case: Decimal(case.get("time")), reverse=True)
    return [f"{case.get('time')} {case.get('name')}" for case in failed]
