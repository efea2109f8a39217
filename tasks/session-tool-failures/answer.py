"""Tools with tool_result records of a non-zero exit code, and how many."""

import json
from collections import Counter


def expected(world, processes):
    records = [json.loads(line) for line in world.lines("logs/agent-session.jsonl")]
    failed = Counter(
        r["tool"] for r in records if r["type"] == "tool_result" and r["exit_code"] != 0
    )
    return [{"tool": tool, "failures": count} for tool, count in sorted(failed.items())]
