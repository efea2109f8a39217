"""Write the names of the programs in Debian's packages into scoring/data/debian_programs.txt.xz.

    python tools/program_names.py

It asks apt for the file lists of the Debian release that is the image's base (46 MB, into a
separate folder), from the sources that this machine has for it. Kept are the names in the folders
for programs, of packages in the sections below: what people call in a shell, without games, sound,
science and the like. Copies of a compiler under the name of a machine, and names that end in a
version number, are left out.
"""

from __future__ import annotations

import lzma
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

RELEASE = "bookworm"
SECTIONS = (
    "admin database devel editors golang interpreters java javascript math net perl php python "
    "ruby rust shells text utils vcs web"
)
OUT = Path(__file__).parents[1] / "scripts/fluency/scoring/data/debian_programs.txt.xz"
LISTS = r"""
Acquire::IndexTargets::deb::Files-of-machine {
 MetaKey "$(COMPONENT)/Contents-$(ARCHITECTURE)"; ShortDescription "Contents-$(ARCHITECTURE)";
 Description "$(RELEASE) $(COMPONENT) $(ARCHITECTURE) Contents"; };
Acquire::IndexTargets::deb::Files-of-all { MetaKey "$(COMPONENT)/Contents-all";
 ShortDescription "Contents-all"; Description "$(RELEASE) $(COMPONENT) all Contents"; };
Acquire::Languages "none";
"""
PROGRAM = re.compile(r"(?:usr/)?(?:local/)?s?bin/([a-z0-9][a-z0-9+._-]*)\s+(\S+)\n")
COPY = re.compile(r"linux-(?:gnu|musl)|-?\d+\.[\d.]+$|-\d+$")


def names_in(lines: list[str]) -> set[str]:
    """The programs in a list of files; a line has a path, and section/package of each package."""
    found = set()
    for line in lines:
        match = PROGRAM.fullmatch(line)
        if match and not COPY.search(match[1]):
            sections = {package.split("/")[-2] for package in match[2].split(",") if "/" in package}
            found |= {match[1]} if sections & set(SECTIONS.split()) else set()
    return found


def fetch(folder: Path) -> list[Path]:
    """The lists of files, as apt keeps them."""
    (folder / "lists" / "partial").mkdir(parents=True)
    (folder / "lists").chmod(0o755)
    (folder / "conf").write_text(f'{LISTS}Dir::State::lists "{folder}/lists";\n')
    apt = {"APT_CONFIG": str(folder / "conf"), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    subprocess.run(["apt-get", "update", "-q"], check=True, env=apt)
    query = ["--format", "$(FILENAME)", f"Codename: {RELEASE}", "Origin: Debian"]
    listed = subprocess.check_output(["apt-get", "indextargets", *query], text=True, env=apt)
    paths = map(Path, listed.split())
    return [path for path in paths if "_Contents-" in path.name and path.exists()]


def main() -> None:
    """Fetch the lists, choose the names, write them."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        names: set[str] = set()
        for path in fetch(Path(name)):
            read = subprocess.check_output(["/usr/lib/apt/apt-helper", "cat-file", path])
            names |= names_in(read.decode(errors="replace").splitlines(keepends=True))
    text = "".join(f"{each}\n" for each in sorted(names))
    OUT.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{OUT}: {len(names)} names, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    try:
        main()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"Error: {error}\nHint: this runs on Debian {RELEASE}, with its package sources")
