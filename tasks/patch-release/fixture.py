"""A version in three files, and more often in two of them; its middle number has the seed's parity.

The last number ends in 9, so that one more makes a digit more or another one.
"""

from string import Template

PACKAGE = Template("""{
  "name": "vox-desktop",
  "config": {
    "version": "$version",
    "port": $port
  },
  "files": ["dist", "bin"],
  "scripts": {
    "pack": "pack --tag v$version",
    "was": "$dashed"
  },
  "version": "$version",
  "engines": { "host": ">=$version" },
  "dependencies": {
    "vox-shell": "$version",
    "vox-ui": "^$version"
  },
  "private": true
}
""")
SNAP = Template("""# version: $version
name: vox-desktop
base: core24
min-version: $version
version: $version # after $version-rc1
parts:
  shell:
    version: $version
    source: shell-$version.tar.gz
""")


def extend(builder, rng):
    minor = 2 * rng.between(1, 9) + builder.odd
    version = f"{rng.between(1, 4)}.{minor}.{rng.pick((9, 19, 29, 109, 199))}"
    values = {
        "version": version,
        "dashed": version.replace(".", "-"),
        "port": rng.between(7000, 7999),
    }
    builder.file("desktop/VERSION", version)
    builder.file("desktop/package.json", PACKAGE.substitute(values))
    builder.file("desktop/snap.yaml", SNAP.substitute(values))
