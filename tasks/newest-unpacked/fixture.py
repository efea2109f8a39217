"""Archives of several versions; that of the highest holds an odd number of files in odd worlds."""

import io
import tarfile

from fluency.world import gzipped

FOLDERS = ("", "bin/", "etc/", "etc/relay.d/", "share/site files/", ".relay/")
NAMES = ("relay", "relayd", "peers.txt", "read me.md", ".env", ".keep", "main.conf", "LICENSE")


def extend(builder, rng):
    def archive(name, count, inside):
        """An archive of `count` files; one of them is in a folder named like another archive."""
        paths = [".env", "bin/relay", "etc/relay.d/read me.md", f"{inside}/main.conf"]
        others = [f"{folder}{file}" for folder in FOLDERS for file in NAMES]
        paths += rng.sample([path for path in others if path not in paths], count - len(paths))
        empty = rng.pick(paths)
        sizes = {f"{name}/{path}": path != empty and rng.between(1, 400) for path in paths}
        parts = [path.split("/") for path in sizes]
        folders = {"/".join(part[:end]) for part in parts for end in range(1, len(part))}
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for path in sorted({*folders, *sizes}):
                member = tarfile.TarInfo(path)
                member.mtime = 1_760_000_000
                if path in folders:
                    member.type, member.mode = tarfile.DIRTYPE, 0o755
                else:
                    member.size = int(sizes[path])
                tar.addfile(member, io.BytesIO(b"x" * member.size))
        return gzipped(buffer.getvalue())

    minor = 10 * rng.between(1, 4) + (9 if builder.odd else 0)
    major, patch = (10, 19) if builder.odd else (19, 10)
    versions = [
        (major, minor, patch),
        (major, minor, patch - 1),
        (major, minor, rng.between(2, 8)),
        (major, rng.between(2, 8), rng.between(20, 40)),
        (major, 9, 9),
        (9, rng.between(50, 90), rng.between(50, 90)),
    ]
    names = ["relay-" + ".".join(map(str, version)) for version in versions]
    # The highest is neither the oldest nor the newest.
    ages = [20, 3, *rng.sample((9, 11, 14, 17, 25, 30), 4)]
    for place, (name, age) in enumerate(zip(names, ages, strict=True)):
        count = rng.pick((9, 11) if builder.odd else (8, 10)) if place == 0 else rng.between(6, 9)
        builder.file(f"dist/{name}.tar.gz", archive(name, count, names[place - 1]), age_days=age)
    others = ("relay-agent-{}.1.0", "old-relay-{}.3.1", "Relay-{}.0.0")
    for place, name in enumerate(others, 2):
        name = name.format(major + place)
        builder.file(f"dist/{name}.tar.gz", archive(name, 6, names[0]), age_days=12)
    builder.file(f"dist/relay-{major + 1}.0.0.tar.gz.part", rng.bytes(200), age_days=10)
    builder.file(f"dist/{names[0]}.tar.gz.sig", rng.bytes(64).hex(), age_days=18)
