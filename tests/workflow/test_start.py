"""What every start of a run pays for, also one that has nothing to do."""

import subprocess
import sys

from fluency.common.paths import ROOT

OPEN = """
import sys
from types import SimpleNamespace
from fluency.core.config_files import read_yaml
from fluency.workflow.pipeline import open_pipeline

workflow = SimpleNamespace(
    overwrite_configfiles=[], exec_mode=SimpleNamespace(name="DEFAULT"), register_resource=lambda name, limit: None
)
pipeline = open_pipeline(read_yaml("config.yaml"), workflow)
assert pipeline.archive_path().endswith(".tar.zst")
for key in (pipeline.keys.image, pipeline.keys.control, pipeline.keys.gather, pipeline.keys.report):
    assert key()
assert all(key(pipeline.loaded.cells[0]) for key in (pipeline.keys.generate, pipeline.keys.execute, pipeline.keys.score))
print(*sorted(set(sys.modules) & set(sys.argv[1:])))
"""


def test_laying_out_the_jobs_loads_no_library_that_only_their_work_needs():
    heavy = ["pandas", "numpy", "matplotlib", "jinja2", "docker", "anthropic", "openai", "httpx2", "zstandard"]
    done = subprocess.run(
        [sys.executable, "-c", OPEN, "yaml", *heavy], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["yaml"]
