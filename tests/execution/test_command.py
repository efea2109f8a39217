"""The command in a reply."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluency.execution.extract import extract
from tests.scoring.recordings import recorded

REPLY = st.text(st.sampled_from("ab`~\n\r $>PS|'\"\0-"), max_size=50) | st.text(max_size=60)

FENCED = ["```bash\nls\n```", "```\nls\n```\n", "````bash\nls\n````"]
THINKING = ["<think>\nUse `ls`.\n</think>", "[THINK]Hm.[/THINK]", "Hm.\n</think>"]
DRESSED = ["`ls`", "```bash ls```", "$ ls", "PS> ls", "PS /work> ls", "```bash\nls"]
DRESSED += [f"{FENCED[0]}{end}" for end in ("</s>", "<|im_end|>", "\u200b", " It lists.")]
DRESSED += [f"{thinks}\n{said}" for said in ("ls", FENCED[0], "$ ls") for thinks in THINKING]
DRESSED += [f"````\n{FENCED[0]}\n````"]


@pytest.mark.parametrize(
    ("reply", "strict", "lenient", "fenced"),
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


@pytest.mark.parametrize(
    "unit", [*"x` \n", "```\n", "```a\n", "~~~\n```\n", "`x", "$ ", "PS ", "> ", "```\n````\n"]
)
def test_ten_megabytes_are_read_quickly(unit):
    reply = (unit * (10_000_000 // len(unit) + 1))[:10_000_000]
    start = time.perf_counter()
    extract(reply)
    assert time.perf_counter() - start < 15
