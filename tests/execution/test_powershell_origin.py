"""Where an image's PowerShell came from is told by its label: the pinned release, or another build."""

import pytest

from fluency.execution.powershell import archive_origin, pinned

X64, ARM64 = (next(digest for name, digest in pinned().items() if machine in name) for machine in ("x64", "arm64"))


@pytest.mark.parametrize(
    ("label", "architecture", "archives", "unofficial"),
    [
        ("download", "amd64", {"pwsh": X64}, []),
        ("download", "arm64", {"pwsh": ARM64}, []),
        (X64, "amd64", {"pwsh": X64}, []),
        ("ab" * 32, "amd64", {"pwsh": "ab" * 32}, ["pwsh"]),
        ("none", "amd64", {}, []),
        ("", "amd64", {}, []),
    ],
)
def test_the_label_tells_the_archive_and_whether_it_is_the_release(label, architecture, archives, unofficial):
    assert archive_origin(label, architecture) == (archives, unofficial)
