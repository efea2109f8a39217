"""The pairs of the projects' references, by an XML parser."""

from xml.etree import ElementTree


def expected(world, processes):
    pairs = set()
    for path, data in world.under("src").items():
        if path.endswith(".csproj"):
            for one in ElementTree.fromstring(data).iter("PackageReference"):
                if {"Include", "Version"} <= one.attrib.keys():
                    pairs.add(f"{one.attrib['Include']} {one.attrib['Version']}")
    return sorted(pairs)
