"""Failed results by class, read by an XML parser."""

from collections import Counter
from xml.etree import ElementTree

SPACE = "{http://microsoft.com/schemas/VisualStudio/TeamTest/2010}"


def expected(world, processes):
    root = ElementTree.fromstring(world.text("reports/tests.trx"))
    classes = {
        test.get("id"): test.find(f"{SPACE}TestMethod").get("className")
        for test in root.iter(f"{SPACE}UnitTest")
    }
    failed = [
        result
        for result in root.iter(f"{SPACE}UnitTestResult")
        if result.get("outcome") == "Failed"
    ]
    counts = Counter(classes[result.get("testId")] for result in failed)
    return [f"{name} {count}" for name, count in counts.items()]
