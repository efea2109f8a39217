"""Synthetic transcripts of the four agents, with the same requests in each and a canary in every private place."""

import json
import sqlite3
from pathlib import Path
from typing import Any

USER, HOST, MAIL = "zaphodb", "magrathea.corp", "zaphod@betelgeuse.org"
KEY, IP = "sk-ant-zzcanary00112233", "10.77.66.55"
CANARIES = (USER, "magrathea", "betelgeuse", "zaphod", "zzcanary", IP)
HOME = f"/home/{USER}/projects/heart-of-gold"

# (what was asked, command, success)
REQUESTS: list[tuple[str, str, bool]] = [
    (f"Count TODO comments under {HOME}/src", f"cd {HOME} && grep -rn TODO {HOME}/src | wc -l", True),
    ("List the five largest files", "find . -type f -printf '%s %p\\n' | sort -rn | head -5", True),
    (f"Which processes does {USER} run?", f"ps -u {USER} -o pid,comm", True),
    (f"Fetch the status page of {HOST} and mail it to {MAIL}",
        f"curl -fsS -H 'Authorization: Bearer {KEY}' https://{HOST}/status?user={USER}", True),
    (f"Look for {IP} in the log", f"grep {IP} server.log", True),
    ("Remove the build folder", "rm -rf build", True),
    ("Run the tests and then list files", "cargo test && ls", True),
    ("Search for a thing that is not there", "grep -r nowhere src", False),
]  # fmt: skip


def write_lines(path: Path, records: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(
            f"{record if isinstance(record, str) else json.dumps(record)}\n" for record in records
        )
    )
    return path


def claude_code(folder: Path, requests=REQUESTS, shell: str = "Bash") -> Path:
    common = {
        "sessionId": "s1",
        "uuid": "u",
        "cwd": HOME,
        "version": "2.0.0",
        "userType": "external",
    }
    records: list[Any] = [
        {"type": "summary", "summary": "x", "leafUuid": "u", "sessionId": "s1"},
        {
            **common,
            "type": "user",
            "isMeta": True,
            "message": {"role": "user", "content": "Caveat: ignore"},
        },
        {
            **common,
            "type": "user",
            "message": {"role": "user", "content": "<command-name>/clear</command-name>"},
        },
        "{broken",
    ]
    for number, (text, command, ok) in enumerate(requests):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": shell}
        use["input"] = {"command": command, "description": text}
        result = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{number}",
            "content": "out",
            "is_error": not ok,
        }
        records += [
            {
                **common,
                "type": "user",
                "message": {"role": "user", "content": [{"type": "text", "text": "go on"}]},
            },
            {**common, "type": "assistant", "message": {"role": "assistant", "content": [use]}},
            common
            | {
                "type": "user",
                "message": {"role": "user", "content": [result]},
                "toolUseResult": {"stdout": ""},
            },
        ]
    return write_lines(folder / "claude/-home-zaphodb/11111111-2222.jsonl", records)


def codex(folder: Path, requests=REQUESTS) -> Path:
    def item(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-08-01T00:00:00Z", "type": kind, "payload": payload}

    scaffolding = [{"type": "input_text", "text": "<environment_context>cwd</environment_context>"}]
    records: list[Any] = [
        item("session_meta", id="1", cwd=HOME, cli_version="1"),
        item("turn_context", turn_id="1", model="m", cwd=HOME),
        item("response_item", type="message", role="user", content=scaffolding),
        "\x00\x01 not json",
    ]
    for number, (text, command, ok) in enumerate(requests):
        call_id = f"call_{number}"
        if number % 2:
            name, given = "exec_command", {"cmd": command}
        else:
            name, given = "shell", {"command": ["bash", "-lc", command], "workdir": HOME}
        records += [
            item(
                "response_item",
                type="message",
                role="user",
                content=[{"type": "input_text", "text": text}],
            ),
            item("event_msg", type="user_message", message=text),
            item(
                "response_item",
                type="function_call",
                name=name,
                arguments=json.dumps(given),
                call_id=call_id,
            ),
            item(
                "event_msg",
                type="exec_command_end",
                call_id=call_id,
                stdout="",
                stderr="",
                exit_code=0 if ok else 1,
            ),
            item(
                "response_item", type="function_call_output", call_id=call_id, output="Exit code: 0"
            ),
        ]
    return write_lines(folder / "codex/2026/08/01/rollout-2026-08-01-1.jsonl", records)


def _gemini_messages(requests) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for number, (text, command, ok) in enumerate(requests):
        call = {"id": f"run_{number}", "name": "run_shell_command", "args": {"command": command}}
        call["status"] = "success" if ok else "error"
        messages += [
            {"id": f"u{number}", "timestamp": "t", "type": "user", "content": [{"text": text}]},
            {
                "id": f"g{number}",
                "timestamp": "t",
                "type": "gemini",
                "content": "done",
                "toolCalls": [call],
            },
        ]
    return messages


def gemini(folder: Path, requests=REQUESTS, extra: list[Any] = []) -> Path:  # noqa: B006
    head = {
        "sessionId": "s",
        "projectHash": "h",
        "startTime": "t",
        "kind": "main",
        "directories": [HOME],
    }
    records = [head, *_gemini_messages(requests), {"$set": {"lastUpdated": "t"}}, "[1, 2", *extra]
    return write_lines(folder / "gemini/h/chats/session-t-12345678.jsonl", records)


def gemini_document(folder: Path, requests=REQUESTS) -> Path:
    path = folder / "gemini/h/chats/session-old.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({"sessionId": "s", "projectHash": "h", "messages": _gemini_messages(requests)})
    )
    return path


def opencode(folder: Path, requests=REQUESTS) -> Path:
    path = folder / "opencode/opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT);"
        "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, data TEXT);"
        "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);"
    )

    def add(number: int, role: str, part: dict[str, Any] | str) -> None:
        message = f"msg_{number:04d}_{role == 'assistant'}"
        document = json.dumps({"role": role, "path": {"cwd": HOME, "root": HOME}})
        database.execute("INSERT INTO message VALUES (?, 's', ?)", (message, document))
        data = part if isinstance(part, str) else json.dumps(part)
        database.execute(
            "INSERT INTO part VALUES (?, ?, 's', ?)", (f"prt_{message}", message, data)
        )

    for number, (text, command, ok) in enumerate(requests):
        add(number, "user", {"type": "text", "text": text})
        state = {
            "status": "completed",
            "input": {"command": command, "description": text},
            "output": "",
        }
        state["metadata"] = {"exit": 0 if ok else 1}
        add(
            number,
            "assistant",
            {"type": "tool", "tool": "bash", "callID": f"oc_{number}", "state": state},
        )
    add(9999, "user", "{torn")
    database.commit()
    database.close()
    return path


FORMATS = {
    "Claude Code": claude_code,
    "Codex CLI": codex,
    "Gemini CLI": gemini,
    "Gemini CLI, old": gemini_document,
}
FORMATS |= {"opencode": opencode}
