"""Where the primary spans of the errors begin."""

import json


def expected(world, processes):
    messages = [json.loads(line).get("message", {}) for line in world.lines("logs/check.jsonl")]
    return [
        f"{span['file_name']} {span['line_start']}"
        for message in messages
        if message.get("level") == "error"
        for span in message["spans"]
        if span["is_primary"]
    ]
