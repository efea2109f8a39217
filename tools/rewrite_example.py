"""Write example/'s archive again in the present form, from its own answers and outputs.

`python -m tools.rewrite_example`, after a change of what an archive holds. Nothing is measured
again: every record says what it said, and so does the manifest of the commit, whose sandbox ran the
commands.
"""

from __future__ import annotations

import json
import sys

from fluency.archive.manifest import MANIFEST_NAME, MANIFEST_SCHEMA, Manifest
from fluency.archive.pack import IMAGES, README, README_FILE, Source, write_archive
from fluency.archive.unpack import read_tar
from fluency.archive.verify import verify_archive
from fluency.common.files import pretty_json
from fluency.core.records import CONTROL_FILE
from fluency.core.table import RECORD_TYPES
from tools.pages.example import archive

EVIDENCE = ("study.json", "tasks", "worlds", "sandbox", "envs", "prices", "preregistrations")
KEPT = (*EVIDENCE, IMAGES, *(f"results/{stage}" for stage in RECORD_TYPES))


def main() -> int:
    """Rewrite the archive and verify it."""
    path = archive()
    with path.open("rb") as raw:
        found = {name: file.read() for name, _, file in read_tar(raw)}
    stated = json.loads(found[MANIFEST_NAME])
    facts = {key: stated[key] for key in Manifest.model_fields if key not in ("files", "sha256")}
    files: dict[str, Source] = {
        name: data
        for name, data in found.items()
        if any(f"{name}/".startswith(f"{kept}/") for kept in KEPT) or name.endswith(CONTROL_FILE)
    }
    for name in files:
        if kind := RECORD_TYPES.get(name.split("/")[1] if "/" in name else ""):
            record = kind.model_validate_json(found[name])
            files[name] = pretty_json(record.model_dump(mode="json")).encode()
    files[README_FILE] = README.encode()
    write_archive(path, files, facts | {"schema_version": MANIFEST_SCHEMA})
    report = verify_archive(path)
    print(*report.lines(), sep="\n")
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
