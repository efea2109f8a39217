"""Each rule's param: the canonical JSON of exactly what changes the rule's result."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from fluency.archive.code_hashes import code_sha256
from fluency.archive.registration import siblings
from fluency.common.canonical import canonical_json
from fluency.common.files import sha256, sha256_file
from fluency.common.paths import ROOT
from fluency.core.loaded_study import LoadedStudy
from fluency.core.shells import SHELLS
from fluency.core.study import Cell
from fluency.core.task_world import world_for
from fluency.execution.image_content import content_sha256
from fluency.execution.powershell import powershell_source
from fluency.generation.request import requests_of


class RerunKeys:
    """The params of one study's rules."""

    def __init__(self, loaded: LoadedStudy) -> None:
        self.loaded, self.study, self.tasks = loaded, loaded.study, loaded.tasks
        self.requests = requests_of(loaded.study, loaded.tasks)

    @cached_property
    def _world_keys(self) -> dict[str, dict[str, str]]:
        return {
            task.id: {str(seed): world_for(task, seed).sha256 for seed in self.study.seeds}
            for task in self.tasks
        }

    def image(self) -> str:
        return canonical_json({"content": content_sha256(), "powershell": powershell_source()})

    def generate(self, wildcards: Any) -> str:
        request = self.requests[cell_of(wildcards)]
        return canonical_json(request.model_dump(mode="json") | {"prompt": sha256(request.prompt)})

    def execute(self, wildcards: Any) -> str:
        """With the sandbox's sources, although the image is an input: a node takes it as it is."""
        sandbox = self.study.sandbox
        return canonical_json(
            {
                "code": code_sha256("execute"),
                "content": content_sha256(),
                "worlds": self._world_keys[wildcards.task],
                "needs": self.loaded.task_of[wildcards.task].needs,
                "conditions": [
                    c.name
                    for c in SHELLS[wildcards.shell].conditions
                    if c.name in self.study.conditions
                ],
                "limits": sandbox.limits.model_dump(exclude={"timeout_s"}),
                "runtime": sandbox.runtime,
                "timeout_s": sandbox.limits.timeout_s[wildcards.shell],
            }
        )

    def score(self, wildcards: Any) -> str:
        return canonical_json(
            {
                "code": code_sha256("score"),
                "check": self.loaded.task_of[wildcards.task].check_sha256,
                "seeds": self.study.seeds,
                "conditions": self.study.conditions,
            }
        )

    def control(self, wildcards: Any = None) -> str:
        limits = self.study.sandbox.limits.model_dump()
        tasks = {task.id: [task.sha256, self._world_keys[task.id]] for task in self.tasks}
        code = {"code": code_sha256("control"), "content": content_sha256()}
        return canonical_json(
            code | {"tasks": tasks, "shells": self.study.shells, "limits": limits}
        )

    def gather(self) -> str:
        files = list(self.loaded.files)
        if self.study.preregistration:
            path = ROOT / self.study.preregistration
            files += [path, *siblings(path)]
        hashes = {file.name: sha256_file(file) for file in files}
        return canonical_json({"code": code_sha256("gather"), **self._stated, "files": hashes})

    def report(self) -> str:
        return canonical_json({"code": code_sha256("report"), **self._stated})

    @property
    def _stated(self) -> dict[str, Any]:
        """The study and its tasks, without `confirm`, which changes no measurement."""
        stated = self.study.model_dump(mode="json", exclude={"confirm", "tasks"})
        return {"study": stated, "tasks": {task.id: task.sha256 for task in self.tasks}}


def cell_of(wildcards: Any) -> Cell:
    """The cell of a rule's wildcards."""
    return Cell(wildcards.model, wildcards.shell, wildcards.task, int(wildcards.trial))
