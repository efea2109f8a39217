"""Transcripts of each agent with the same requests, and a canary in every private place."""

import json
import sqlite3

USER, HOST, MAIL = "zaphodb", "magrathea.corp", "zaphod@betelgeuse.org"
KEY, IP = "sk-ant-zzcanary00112233", "10.77.66.55"
CANARIES = (USER, "magrathea", "betelgeuse", "zaphod", "zzcanary", IP)
HOME = f"/home/{USER}/projects/heart-of-gold"

# (what was asked, command, success)
REQUESTS = [
    (f"Count TODO comments under {HOME}/src",
        f"cd {HOME} && grep -rn TODO {HOME}/src | wc -l", True),
    ("List the five largest files", "find . -type f -printf '%s %p\\n' | sort -rn | head -5", True),
    (f"Which processes does {USER} run?", f"ps -u {USER} -o pid,comm", True),
    (f"Fetch the status page of {HOST} and mail it to {MAIL}",
        f"curl -fsS -H 'Authorization: Bearer {KEY}' https://{HOST}/status?user={USER}", True),
    (f"Look for {IP} in the log", f"grep {IP} server.log", True),
    ("Remove the build folder", "rm -rf build", True),
    ("Run the tests and then list files", "cargo test && ls", True),
    ("Search for a thing that is not there", "grep -r nowhere src", False),
]  # fmt: skip


def write_lines(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def claude_code(folder, requests=REQUESTS, shell="Bash"):
    def said(role, content, **more):
        about = {"sessionId": "s1", "cwd": HOME, "version": "2.0.0", "userType": "external"}
        return about | {"type": role, "message": {"role": role, "content": content}} | more

    records = [
        {"type": "summary", "summary": "x", "leafUuid": "u", "sessionId": "s1"},
        said("user", "Caveat: ignore", isMeta=True),
        said("user", "<command-name>/clear</command-name>"),
        "{broken",
    ]
    for number, (text, command, ok) in enumerate(requests):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": shell}
        use["input"] = {"command": command, "description": text}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "out"}
        records += [
            said("user", [{"type": "text", "text": "go on"}]),
            said("assistant", [use]),
            said("user", [result | {"is_error": not ok}], toolUseResult={"stdout": ""}),
        ]
    return write_lines(folder / "claude/-home-zaphodb/11111111-2222.jsonl", records)


def codex(folder, requests=REQUESTS):
    def item(kind, **payload):
        return {"timestamp": "2026-08-01T00:00:00Z", "type": kind, "payload": payload}

    def prompt(text):
        content = [{"type": "input_text", "text": text}]
        return item("response_item", type="message", role="user", content=content)

    records = [
        item("session_meta", id="1", cwd=HOME, cli_version="1"),
        item("turn_context", turn_id="1", model="m", cwd=HOME),
        prompt("<environment_context>cwd</environment_context>"),
        "\x00\x01 not json",
    ]
    for number, (text, command, ok) in enumerate(requests):
        name, given = "shell", {"command": ["bash", "-lc", command], "workdir": HOME}
        if number % 2:
            name, given = "exec_command", {"cmd": command}
        call = {"name": name, "arguments": json.dumps(given)}
        of_call, code = {"call_id": f"call_{number}"}, 0 if ok else 1
        records += [
            prompt(text),
            item("event_msg", type="user_message", message=text),
            item("response_item", type="function_call", **call, **of_call),
            item("event_msg", type="exec_command_end", stdout="", exit_code=code, **of_call),
            item("response_item", type="function_call_output", output="Exit code: 0", **of_call),
        ]
    return write_lines(folder / "codex/2026/08/01/rollout-2026-08-01-1.jsonl", records)


def gemini(folder, requests=REQUESTS):
    messages = []
    for number, (text, command, ok) in enumerate(requests):
        call = {"id": f"run_{number}", "name": "run_shell_command", "args": {"command": command}}
        call["status"] = "success" if ok else "error"
        asked = {"id": f"u{number}", "type": "user", "content": [{"text": text}]}
        answered = {"id": f"g{number}", "type": "gemini", "content": "", "toolCalls": [call]}
        messages += [asked, answered]
    document = {"sessionId": "s", "projectHash": "h", "directories": [HOME], "messages": messages}
    return write_lines(folder / "gemini/h/chats/session-old.json", [document])


def opencode(folder, requests=REQUESTS):
    path = folder / "opencode/opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE session (id TEXT PRIMARY KEY, directory TEXT);"
        "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, data TEXT);"
        "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);"
    )

    def add(number, role, part):
        name = f"msg_{number:04d}_{role == 'assistant'}"
        document = json.dumps({"role": role, "path": {"cwd": HOME, "root": HOME}})
        database.execute("INSERT INTO message VALUES (?, 's', ?)", (name, document))
        database.execute("INSERT INTO part VALUES (?, ?, 's', ?)", (f"prt_{name}", name, part))

    for number, (text, command, ok) in enumerate(requests):
        add(number, "user", json.dumps({"type": "text", "text": text}))
        state = {"status": "completed", "input": {"command": command, "description": text}}
        state |= {"output": "", "metadata": {"exit": 0 if ok else 1}}
        call = {"type": "tool", "tool": "bash", "callID": f"oc_{number}", "state": state}
        add(number, "assistant", json.dumps(call))
    add(9999, "user", "{torn")
    database.commit()
    database.close()
    return path


def codex_sentences(folder, requests=REQUESTS):
    """One prompt, and before each call a sentence of the agent; each second call is JavaScript."""

    def item(kind, **payload):
        return {"timestamp": "2026-10-01T00:00:00Z", "type": kind, "payload": payload}

    def message(role, text):
        content = [{"type": "output_text" if role == "assistant" else "input_text", "text": text}]
        return item("response_item", type="message", role=role, content=content, id="msg")

    records = [
        item("session_meta", id="1", cwd=HOME, cli_version="0.153.4"),
        message("user", "Look at the project and tidy it up"),
        "[torn",
    ]
    for number, (text, command, ok) in enumerate(requests):
        of_call, code = {"call_id": f"call_{number}"}, 0 if ok else 1
        said = f"Some reasoning first.\n\n{text}"
        records += [
            message("assistant", said),
            item("event_msg", type="agent_message", message=said),
        ]
        if number % 2:
            script = (
                f"const r = await tools.exec_command({{cmd:{json.dumps(command)}, workdir: '.'}});"
            )
            output = [{"type": "input_text", "text": "Script completed\nWall time 0.1\nOutput:\n"}]
            run = {"type": "CommandExecution", "id": f"x{number}", "exit_code": code}
            records += [
                item(
                    "response_item", type="custom_tool_call", name="exec", input=script, **of_call
                ),
                item("event_msg", type="item_completed", item=run | {"command": command}),
                item("response_item", type="custom_tool_call_output", output=output, **of_call),
            ]
        else:
            call = {"name": "exec_command", "arguments": json.dumps({"cmd": command})}
            output = f"Process exited with code {code}\nOutput:\n3"
            records += [
                item("response_item", type="function_call", **call, **of_call),
                item("response_item", type="function_call_output", output=output, **of_call),
            ]
    return write_lines(folder / "codex-now/rollout-2.jsonl", records)


def copilot(folder, requests=REQUESTS):
    """A call is announced in the agent's message and again where it starts; it never fails itself."""

    def event(kind, **data):
        return {"type": kind, "data": data, "id": f"{len(records)}", "parentId": None}

    records = []
    records.append(event("session.start", sessionId="1", context={"cwd": HOME}))
    records.append(event("user.message", content="Tidy up", transformedContent="<now>Tidy up"))
    records.append("{torn")
    for number, (text, command, ok) in enumerate(requests):
        about, given = {"toolCallId": f"tool_{number}"}, {"command": command, "description": text}
        asked = [about | {"name": "bash", "arguments": given, "type": "function"}]
        end = f"3\n<exited with exit code {0 if ok else 1}>"
        for kind, data in {
            "assistant.message": {"messageId": "m", "content": "", "toolRequests": asked},
            "tool.execution_start": about | {"toolName": "bash", "arguments": given},
            "tool.execution_complete": about | {"success": True, "result": {"content": end}},
        }.items():
            records.append(event(kind, **data))
    return write_lines(folder / ".copilot/session-state/1/events.jsonl", records)


FORMATS = {"Claude Code": claude_code, "Codex CLI": codex, "Gemini CLI": gemini}
FORMATS |= {"opencode": opencode, "Codex with sentences": codex_sentences, "Copilot CLI": copilot}
