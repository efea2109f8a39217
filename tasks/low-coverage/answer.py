"""Files of classes with a low rate, by an XML parser."""

from xml.etree import ElementTree


def expected(world, processes):
    classes = ElementTree.fromstring(world.text("reports/coverage.xml")).iter("class")
    return sorted({one.get("filename") for one in classes if float(one.get("line-rate")) < 0.8})
