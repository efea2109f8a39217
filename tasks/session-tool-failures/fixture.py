"""A record of another type that has a tool and a non-zero exit code."""

import json


def extend(builder, rng):
    lines = builder.files["logs/agent-session.jsonl"].decode().splitlines()
    tool = rng.pick([record["tool"] for record in map(json.loads, lines) if "tool" in record])
    record = {
        "seq": len(lines) + 1,
        "type": "hook_result",
        "tool": tool,
        "exit_code": rng.pick((1, 2, 127)),
    }
    builder.files["logs/agent-session.jsonl"] += f"{json.dumps(record)}\n".encode()
