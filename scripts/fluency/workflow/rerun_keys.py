"""Each rule's params: a short hash of every ingredient that changes the rule's result."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from fluency.common.canonical import canonical_json, canonical_sha256
from fluency.common.files import sha256_file
from fluency.common.git import first_commit_with
from fluency.common.paths import ROOT
from fluency.core.code_hashes import code_sha256
from fluency.core.loaded_study import LoadedStudy
from fluency.core.shells import AS_DESIGNED, SHELLS
from fluency.core.study import Cell
from fluency.core.task_world import world_for
from fluency.execution.archives import archive_for
from fluency.execution.image_content import content_sha256, shells_in
from fluency.execution.isolation import container_config, isolation
from fluency.execution.protocol import EMPTY_WORLD, Invocation, header
from fluency.generation.request import requests_of
from fluency.registration import others_of, read_registration, siblings
from fluency.workflow.snakemake_internals import of_wildcards

WILDCARDS = {
    "image": ("shell",),
    "generate": ("model", "shell", "task", "trial"),
    "execute": ("shell", "task"),
    "score": ("shell", "task"),
}
"""What of a job's cell its params depend on; other rules' params depend on the study alone."""
HEX_DIGITS = 12
"""Of a hash: enough that no change is missed, and few enough to read."""


class RerunKeys:
    """The params of one study's rules. Each rule has a method that gives its ingredients."""

    def __init__(self, loaded: LoadedStudy) -> None:
        self.loaded, self.study, self.tasks = loaded, loaded.study, loaded.tasks
        self.requests = requests_of(loaded.study, loaded.tasks, world_for)
        self.tags, self._handed_to = cache(self._tags), cache(self._handed)

    def params(self, rule: str) -> dict[str, Callable[[Any], str]]:
        """A rule's params by name; a function of the wildcards gives `name:hash`.

        Snakemake prints those that differ as its reason for a rerun.
        """
        wildcards = WILDCARDS.get(rule, ())

        def param(name: str) -> Callable[[Any], str]:
            return of_wildcards(
                lambda job: self.tags(rule, *(getattr(job, part) for part in wildcards))[name]
            )

        first = next(iter(self.requests))
        return {
            name: param(name) for name in self.tags(rule, *(getattr(first, w) for w in wildcards))
        }

    def _tags(self, rule: str, *of: Any) -> dict[str, str]:
        ingredients = getattr(self, rule)(*of)
        return {
            name: f"{name}:{canonical_sha256(value)[:HEX_DIGITS]}"
            for name, value in ingredients.items()
        }

    def image(self, shell: str) -> dict[str, Any]:
        return {"sandbox": content_sha256(shells_in(shell)), "archive": archive_for(shell)}

    def generate(self, *cell: Any) -> dict[str, Any]:
        request = self.requests[Cell(*cell)]
        settings = request.model_dump(mode="json", exclude={"prompt"})
        return {"prompt": request.prompt, "settings": settings}

    def execute(self, shell: str, task: str) -> dict[str, Any]:
        """What engine and runner are handed, and the code that reads reply and result.

        Of the worlds their sources: building hundreds takes longer than all other keys.
        """
        own = self.loaded.task_of[task]
        return {
            "code": code_sha256("execute"),
            "worlds": [code_sha256("worlds"), self.study.seeds, own.worlds_sha256, own.needs],
            **self._handed_to(shell),
        }

    def _handed(self, shell: str) -> dict[str, str]:
        """What the engine and, under each condition, the runner are handed, but the world.

        With the sandbox's sources, although the image is an input: a node takes it as it is.
        """
        sandbox, limits = self.study.sandbox, self.study.sandbox.limits
        named = [AS_DESIGNED, *SHELLS[shell].conditions]
        invocation = partial(
            Invocation, shell, "", EMPTY_WORLD, limits, limits.deadline_s(shell), ()
        )
        headers = {
            one.name: header(invocation(one.name), nonce="")
            for one in named
            if one.name in self.study.conditions
        }
        container = container_config("", {}, isolation(limits, runtime=sandbox.runtime))
        return {
            "sandbox": content_sha256(shells_in(shell)),
            "limits": canonical_sha256(container),
            "conditions": canonical_json(headers),
        }

    def score(self, shell: str, task: str) -> dict[str, Any]:
        return {
            "code": code_sha256("score"),
            "shell": SHELLS[shell].deciding,
            "check": self.loaded.task_of[task].check_sha256,
            "worlds": self.study.seeds,
            "conditions": self.study.conditions,
        }

    def control(self) -> dict[str, Any]:
        return {
            "code": code_sha256("control"),
            "sandbox": content_sha256(self.study.shells),
            "limits": self.study.sandbox.limits.model_dump(),
            "tasks": {task.id: [task.sha256, task.worlds_sha256] for task in self.tasks},
            "seeds": self.study.seeds,
            "shells": self.study.shells,
        }

    def gather(self) -> dict[str, Any]:
        hashes = {file.name: sha256_file(file) for file in self.loaded.files}
        if name := self.study.preregistration:
            path = ROOT / name
            hashes |= siblings(read_registration(path), others_of(path))
            hashes |= {
                name: sha256_file(path),
                "held": first_commit_with(path.read_bytes(), name) or "",
            }
        return {"code": code_sha256("gather"), **self._stated, "files": hashes}

    def report(self) -> dict[str, Any]:
        return {"code": code_sha256("report"), **self._stated}

    @property
    def _stated(self) -> dict[str, Any]:
        """The study and its tasks, without `confirm`, which changes no measurement."""
        stated = self.study.model_dump(mode="json", exclude={"confirm", "tasks"})
        entries = {shell: SHELLS[shell].facts for shell in self.study.shells}
        tasks = {task.id: task.sha256 for task in self.tasks}
        return {"study": stated, "tasks": tasks, "shells": entries}
