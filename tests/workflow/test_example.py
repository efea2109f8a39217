"""The example that README shows."""

import re

from fluency.common.paths import ROOT

EXAMPLE = ROOT / "example"
PNG = b"\x89PNG\r\n\x1a\n"


def test_readme_shows_its_pictures():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r'(?:src="|\]\()(example/[^")]+)', readme):
        assert (ROOT / name).is_file(), name
    assert all((EXAMPLE / name).read_bytes().startswith(PNG) for name in ("table.png", "cell.png"))
