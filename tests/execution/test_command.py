"""The command in a reply."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluency.core.records import THINKING as THINKING_NOTE
from fluency.core.reply_marks import thinking_end
from fluency.execution.extract import extract
from tests.scoring.recordings import recorded

REPLY = st.text(st.sampled_from("ab`~\n\r $>PS|'\"\0-"), max_size=50) | st.text(max_size=60)

FENCED = ["```bash\nls\n```", "```\nls\n```\n", "````bash\nls\n````"]
THINKING = ["<think>\nUse `ls`.\n</think>", "[THINK]Hm.[/THINK]", "Hm.\n</think>"]
DRESSED = ["`ls`", "```bash ls```", "$ ls", "PS> ls", "PS /work> ls", "```bash\nls", "**ls**"]
DRESSED += [f"{FENCED[0]}{end}" for end in ("\u200b", " It lists.")]
DRESSED += [f"{thinks}\n{said}" for said in ("ls", FENCED[0], "$ ls") for thinks in THINKING]
DRESSED += [f"````\n{FENCED[0]}\n````", "```bash\nls```", "```bash\nls```\nIt lists."]
DRESSED += [f"{before}{FENCED[0]}" for before in ("> ", "- ", "1. ", "Answer: ")]
DRESSED += [f"{before}{FENCED[0]}" for before in ("\u200b", "**Bash:** ", "**PowerShell 7**: ")]
DRESSED += ["ls\nExplanation: it lists.", "ls\n\n**How it works**:\n- lists"]
DRESSED += ["Command: ls", "**Command:** ls", "The bash command: `ls`"]
DRESSED += ["ls\n\nThis lists all files.", "ls\n\n**Note:** it lists all."]
DRESSED += [f"<{tag}>\nls\n</{tag}>" for tag in ("answer", "response", "bash", "powershell")]
DRESSED += [f"Here:\n<command>{FENCED[0]}</command>", '[TOOL_CALLS]bash[ARGS]{"command": "ls"}']
CALL = {"name": "bash", "arguments": {"command": "ls"}}
CALLS = [CALL, CALL | {"arguments": json.dumps(CALL["arguments"])}, {"function": CALL}]
DRESSED += [f"{before}{json.dumps(call)}" for call in CALLS for before in ("", "<tool_call>\n")]
DRESSED += ["<function=bash>\n<parameter=command>\nls\n</parameter>\n</function>"]
MARKS = [
    *[
        f"<{name}>Hm.</{name}>"
        for name in ("think", "reasoning", "thought", "thoughts", "seed:think")
    ],
    "◁think▷Hm.◁/think▷",
    "<|begin_of_thought|>Hm.<|end_of_thought|>",
    "<|START_THINKING|>Hm.<|END_THINKING|>",
    "<unused94>thought\nHm.<unused95>",
    "<|channel>thought\nHm.<channel|>",
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>",
    "analysisHm.assistantfinal",
]
BOXES = [
    "ls",
    "<|begin_of_box|>ls<|end_of_box|>",
    "<|begin_of_solution|>ls<|end_of_solution|>",
    "<|START_RESPONSE|>ls<|END_RESPONSE|>",
]
ENDS = ["</s>", "<|im_end|>", "<|eot_id|>", "<|return|>", "<|endoftext|>", "<end_of_turn>", "<eos>"]
ENDS += ["[|endofturn|]", "<turn|>", "[/INST]", "<｜end▁of▁sentence｜>"]
HERE = ["cat > a <<'EOF'\n```\nx\n```\nEOF", "@'\n```\nx\n```\n'@ | Set-Content a"]
KEPT = [
    "printf 'a\\n' Explanation: > a\necho b",
    "grep -c '</think>' notes.md",
    "grep '</think> a' b",
    "grep 'a </think>' b",
    'curl -d \'{"command": "x"}\' http://a',
    "ls **/*.rs",
    *HERE,
]


@pytest.mark.parametrize(
    "reply, strict, lenient, fenced",
    [
        ("  ls -l \n\n", "ls -l", "ls -l", False),
        *[(fenced, "ls", "ls", True) for fenced in FENCED],
        ("```powershell\r\nGet-ChildItem\r\n```\r\n", "Get-ChildItem", "Get-ChildItem", True),
        ("```bash title=x\nls \\\n  -l\n```", "ls \\\n  -l", "ls \\\n  -l", True),
        ("```bash\necho `date`\n```", "echo `date`", "echo `date`", True),
        ("echo `date`", "echo `date`", "echo `date`", False),
        *[(dressed, dressed, "ls", False) for dressed in DRESSED],
        ("$x = 1; $x", "$x = 1; $x", "$x = 1; $x", False),
        ("```\na\n```\nor\n```\nb\n```", "```\na\n```\nor\n```\nb\n```", "a", False),
        ("```\n```", None, None, True),
        (" \n\t", None, None, False),
        ("ls\0", "ls\0", "ls\0", False),
    ],
)
def test_both_readings(reply, strict, lenient, fenced):
    found = extract(reply)
    assert (found.strict, found.lenient, found.fenced) == (strict, lenient, fenced)


@pytest.mark.parametrize("thinks", MARKS)
def test_thinking_is_read_past_by_one_table(thinks):
    for box in BOXES:
        found = extract(f"{thinks}\n{box}")
        assert found.lenient == "ls" and found.strict.startswith(thinks[:8])
        assert THINKING_NOTE in found.notes and thinking_end(f"{thinks}\n{box}")


@pytest.mark.parametrize("end", ENDS)
def test_end_mark_is_the_servers(end):
    for reply, fenced in (("ls -l", False), (FENCED[0].replace("ls", "ls -l"), True)):
        found = extract(f"{reply}\n{end}{end}\n")
        assert (found.strict, found.lenient, found.fenced) == ("ls -l", "ls -l", fenced)


@pytest.mark.parametrize("command", KEPT)
def test_command_with_marks_of_its_own_is_kept(command):
    found = extract(command)
    assert found.strict == found.lenient == command and not thinking_end(command)
    assert extract(f"<think>Hm.</think>\n{command}").lenient == command
    assert extract(f"```bash\n{command}\n```").lenient == command


def test_extract_notes():
    taken = ["prose around a fenced block", "a prompt sign before the command"]
    assert extract("Use:\n```\n$ ls\n```\n").notes == taken
    assert extract("ls\0 x").notes == ["holds a NUL byte"] and extract("ls").notes == []


@given(REPLY)
@settings(max_examples=1_000)
def test_strict_is_idempotent_and_only_takes_away(reply):
    found = extract(reply)
    strict, lenient = found.strict, found.lenient
    if "`" not in reply and "~" not in reply:
        assert (strict or "") == reply.strip() and not found.fenced
    if strict is not None:
        assert extract(strict).strict == strict and strict in reply and strict == strict.strip()
    assert lenient is None or lenient == lenient.strip()


@pytest.mark.parametrize("fence", ["```", "~~~", "`````"])
def test_every_recorded_command_survives_a_fence(fence):
    for command in {line.command.strip() for line in recorded()}:
        assert extract(command).strict == command and extract(command).lenient == command
        assert extract(f"{fence}any\r\n{command}\r\n{fence}\r\n").strict == command


UNITS = [
    "```\n````\n",
    "~~~\n```\n",
    "<answer>\n",
    "<think>",
    "</think>",
    '{"a":',
    "</s>",
    "</s> x",
]
UNITS += [*"x` \n", "```\n", "```a\n", "`x", "$ ", "PS ", "> ", "**a", "\n\nA b c.", "<<A\n```\n"]


@pytest.mark.parametrize("unit", UNITS)
def test_two_megabytes_are_read_quickly(unit):
    reply = (unit * (2_000_000 // len(unit) + 1))[:2_000_000]
    start = time.process_time()
    extract(reply)
    assert time.process_time() - start < 6
