"""A small world of its own, so that the sandbox's tests depend on no task."""

import importlib.util
import io
import tarfile
from types import ModuleType, SimpleNamespace

from fluency.common.paths import SANDBOX
from fluency.world import FINDINGS, JOB, Finding, HelperSpec, Job, Route


def of_the_sandbox(name: str) -> ModuleType:
    """A module of the image's own sources."""
    spec = importlib.util.spec_from_file_location(f"sandbox_{name}", SANDBOX / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


AGES = {".": 3600.0, "src": 86400.0, "src/main.rs": 10 * 86400.0, "README.md": 60.0, "with space.txt": 5.0}


def packed(files: dict[str, bytes], dirs: tuple[str, ...], modes: dict[str, int]) -> bytes:
    """A tree's tar; modes are 0644 and 0755 where none is given."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in dirs:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, modes.get(name, 0o755)
            archive.addfile(folder)
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), modes.get(name, 0o644)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def small_world() -> SimpleNamespace:
    """Three files, five helpers in a tree of two, five routes; the shape of fluency.world.World."""
    files = {"README.md": b"# read me\n", "src/main.rs": b"fn main() {}\n", "with space.txt": b"\x00\xff"}

    def route(path: str, status: int, headers: dict[str, str], body: bytes) -> Route:
        return Route("GET", path, status, headers, body)

    def helper(key: str, name: str, *args: str, parent: str | None = None, rss: int = 0, virt: int = 0):
        return HelperSpec(key, name, args, parent, rss, virt)

    return SimpleNamespace(
        seed=1,
        sha256="0" * 64,
        tar=packed(files, ("src",), {}),
        ages=AGES,
        files=files,
        dirs=("src",),
        http=(
            route("/api/crates", 200, {"Content-Type": "application/json"}, b'{"crates": []}\n'),
            route("/dl/latest", 302, {"Location": "/dl/store/1"}, b""),
            route("/dl/store/1", 200, {"Content-Type": "application/octet-stream"}, bytes(range(256)) * 300),
            route("/doc", 200, {"X-Tag": "1", "ETag": 'W/"a"'}, b"text\n"),
            Route(
                *("POST", "/lint", 422, {}, f"{JOB} {FINDINGS}\n".encode()),
                findings=(Finding("fault$", {"code": "V1"}),),
                job=Job("/lint/", "j", ("first\n", "then\n")),
            ),
        ),
        processes=(
            helper("sched", "vox-sched", "--config", "a b", rss=4),
            helper("w1", "vox-worker", "--queue", "alpha", parent="sched", rss=30),
            helper("w2", "vox-worker", "--queue", "beta", rss=5),
            helper("relay", "vox-relay", parent="sched"),
            helper("lspd", "vox-lspd", "", parent="relay", virt=3000),
        ),
    )


SMALL = small_world()
