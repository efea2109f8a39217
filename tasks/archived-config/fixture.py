"""A tarball with several files of one name, and one more in the tree; odd worlds have odd ports."""

import io
import tarfile

from fluency.world.model import gzipped

ENTRIES = (
    "app/README.md",
    "app/bin/run.txt",
    "app/etc/defaults/service.conf",
    "app/etc/Service.conf",
    "app/etc/service.conf.d/local.conf",
    "backup/app/etc/service.conf",
    "service.conf",
)


def extend(builder, rng):
    def conf(port):
        keys = rng.sample(("workers", "retries", "timeout", "window", "budget"), 3)
        return (
            "".join(f"{key} = {rng.below(100)}\n" for key in (*keys, "depth")) + f"port = {port}\n"
        )

    texts = {path: conf(rng.between(1000, 1999)) for path in rng.shuffled(ENTRIES)}
    ours = ("app/etc/service.conf", conf(2 * rng.between(2000, 4000) + builder.odd))
    place = rng.between(2, 4)
    entries = [*list(texts.items())[:place], ours, *list(texts.items())[place:]]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, text in entries:
            member = tarfile.TarInfo(path)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    builder.file("dist/app.tar.gz", gzipped(buffer.getvalue()))
    builder.file("app/etc/service.conf", conf(3000))
