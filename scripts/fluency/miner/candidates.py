"""The candidate folders and their table. Everything that is written here has been redacted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import yaml

from fluency.common.files import write_atomic
from fluency.core.shells import DESIGN_SHELLS, SHELLS
from fluency.core.tasks import CATEGORIES
from fluency.miner.clusters import Cluster
from fluency.miner.redact import redact, user_names
from fluency.miner.transcript import ShellRequest

A_CATEGORY = 10
_HEAD = """\
# A draft from your transcripts, not a task: as long as `draft` stands here it is refused.
# To make it one: rewrite the prompt so that it names no shell and states the output format, build what it needs
# into a world, write answer.py, references and wrong commands for both shells (docs/adding-a-task.md), and move the
# folder to tasks/. The commands below are what an agent ran: never take one's output as the expected answer.
"""


def write_candidates(out: Path, clusters: list[Cluster], names: set[str]) -> tuple[list[Cluster], int]:
    """Write a folder for each of the most frequent clusters of a category; which, and how many drafts stood already.

    A draft that is there stays as it is: someone may be working on it.
    """
    chosen: list[Cluster] = []
    kept = 0
    for category in CATEGORIES:
        chosen += [cluster for cluster in clusters if cluster.intent.category == category][:A_CATEGORY]
    for cluster in chosen:
        path = out / cluster.intent.slug / "task.yaml"
        if path.exists():
            kept += 1
        else:
            write_atomic(path, draft(cluster, names))
    return chosen, kept


def draft(cluster: Cluster, names: Iterable[str]) -> str:
    """The text of a candidate's task.yaml."""
    clean = [_clean(example, names) for example in cluster.examples]
    commands: dict[str, list[str]] = {}
    for example, (_, command) in zip(cluster.examples, clean, strict=True):
        if command not in commands.setdefault(example.shell, []):
            commands[example.shell].append(command)
    texts = list(dict.fromkeys(text for text, _ in clean if text))
    values = {
        "draft": True,
        "id": cluster.intent.slug,
        "category": cluster.intent.category,
        "provenance": "written",
        "provenance_note": f"after {cluster.count} requests in the author's own agent transcripts",
        "prompt": texts[0],
        "seen": {
            "requests": cluster.count,
            "known_successful": cluster.succeeded,
            "other_wordings": texts[1:],
            "commands": commands,
        },
    }
    return _HEAD + yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=110)


def table(chosen: list[Cluster], categories: Counter[str], outside: Counter[str], summary: Iterable[str]) -> str:
    """The README of the candidates: what was read, how frequent each category is, and the candidates."""
    total = sum(categories.values())
    lines = ["# Task candidates from your transcripts", "", *summary, ""]
    lines += ["| category | requests | share |", "|---|---:|---:|"]
    lines += [f"| {name} | {categories[name]} | {_share(categories[name], total)} |" for name in CATEGORIES]
    titles = " | ".join(SHELLS[name].short_title for name in DESIGN_SHELLS)
    lines += ["", f"| candidate | requests | share of its category | {titles} | known successful |"]
    lines += ["|---|---:|---:|---:|---:|---:|"]
    for cluster in chosen:
        share = _share(cluster.count, categories[cluster.intent.category])
        shells = " | ".join(str(cluster.shells[name]) for name in DESIGN_SHELLS)
        slug = cluster.intent.slug
        lines.append(f"| [{slug}]({slug}/task.yaml) | {cluster.count} | {share} | {shells} | {cluster.succeeded} |")
    if outside:
        lines += ["", "Commands left out:", "", "| why | commands |", "|---|---:|"]
        often_first = sorted(outside.items(), key=lambda item: (-item[1], item[0]))
        lines += [f"| {why} | {count} |" for why, count in often_first]
    lines += ["", "docs/mining.md says how these were chosen, and how a candidate becomes a task."]
    return "\n".join(lines) + "\n"


def _clean(example: ShellRequest, names: Iterable[str]) -> tuple[str, str]:
    known = set(names) | user_names(example.folder)
    return redact(example.text, known, example.folder), redact(example.command, known, example.folder)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"
