"""A release, its list of checksums, and files that are not what the list says, the last of the list
among them."""

from hashlib import sha256

TOP = (
    "vox-aarch64-darwin.tar.gz",
    "vox-aarch64-linux.tar.gz",
    "vox-x86_64-linux.tar.gz",
    "vox-x86_64-windows.zip",
    "LICENSE",
    "sbom.json",
)
NESTED = (
    "completions/vox.bash",
    "completions/vox.ps1",
    "man/vox.1",
    "plugins/search.wasm",
    "plugins/publisher.wasm",
    "plugins/oratio.wasm",
)
SPACED = ("release notes.md", "plugins/mesh relay.wasm")


def extend(builder, rng):
    listed = {name: _content(rng, name) for name in (*TOP, *NESTED, *SPACED)}
    there = dict(listed)
    names = rng.shuffled((*TOP, *NESTED))
    altered = [rng.pick(SPACED), *names[: 2 if builder.odd else rng.pick((1, 3))]]
    first, second, *missing = names[3:7]
    sound = [name for name in listed if name not in (*altered, first, second, *missing)]
    for number, name in enumerate(altered):
        data = there[name]
        there[name] = (
            data[: len(data) // 2]
            if number == 1
            else data[:100] + bytes([data[100] ^ 1]) + data[101:]
        )
    there[first], there[second] = there[second], there[first]
    for name, data in there.items():
        if name not in missing:
            builder.file(f"dist/{name}", data)
    starred = {altered[0], *rng.sample(altered[1:], 1), missing[0], *sound[:2]}
    capital = {altered[-1], *sound[1:4]}
    lines = []
    last = rng.pick((first, second, *altered, *missing))
    for name in (*rng.shuffled(sorted(listed.keys() - {last})), last):
        digest = sha256(listed[name]).hexdigest()
        lines.append(
            f"{digest.upper() if name in capital else digest} {'*' if name in starred else ' '}{name}\n"
        )
    builder.file("dist/SHA256SUMS", "".join(lines))
    builder.file("dist/vox-riscv64-linux.tar.gz", rng.split("not listed").bytes(400))
    builder.file("dist/build.log", "built 15 artifacts: 0 FAILED\n")


def _content(rng, name):
    if name.endswith((".gz", ".zip", ".wasm")):
        return rng.split(name).bytes(rng.between(300, 900))
    return "".join(f"{name} {rng.below(10_000)}\n" for _ in range(rng.between(20, 40))).encode()
