"""Whether a PowerShell command uses what Windows PowerShell 5.1 lacks, by its text."""

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from tree_sitter import Node

from fluency.core.dialects.powershell import corrected_tree
from fluency.core.dialects.tree import TooManySteps, nodes, text_of
from fluency.core.grammar import MAX_BYTES, POWERSHELL, parse
from fluency.scoring.commands import rows_of

_NODES = {"pipeline_chain_tail", "ternary_expression", "null_coalesce_expression", "??="}
"""`&&` and `||`, `?:`, `??` and `??=` in the grammar's tree."""
_GAPS = {"null", "job"}
"""`?.` and `?[`, a last `&`: parts that the grammar lacks."""
_WORDS = re.compile(
    r"\$\{?(?:is(?:linux|windows|macos|coreclr)|psnativecommanduseerroractionpreference)\}?"
    r"|utf8(?:no)?bom|0b[01]+|[-+]?\d+(?:u[sly]?|[yn])",
    re.IGNORECASE,
)
_LEAVES = {"variable", "generic_token", "command_name", "decimal_integer_literal"}
_PARTS = {
    "block_name": re.compile(r"\Aclean\Z", re.IGNORECASE),
    "expandable_string_literal": re.compile(r"(?<!`)(?:``)*+`(?:e|u\{)"),
    "range_expression": re.compile(r"\A['\"]"),
    "comparison_expression": re.compile(r"-[ci]?replace\b.*,\s*\{", re.IGNORECASE | re.DOTALL),
}
"""`clean` blocks, escapes, `'a'..'c'`, and `-replace` with a script block."""
_OF_PROCESSES = re.compile(r"\bCommandLine\b|\.Parent\b", re.IGNORECASE)
_PROCESSES = {"get-process", "gps"}
_UNDECIDED = {"invocation_expression", "type_literal", "splatted_variable"}


@lru_cache(maxsize=4096)
def lacks(command: str) -> bool | None:
    """Whether 5.1 lacks a construct, command or parameter of it.

    None if .NET members, splatting or computed names decide. Parameters are recognised by their
    full names. Where nothing is lacking the command may still behave differently there.
    """
    source = command.encode(errors="replace")[:MAX_BYTES]
    try:
        tree, gaps = corrected_tree(source)
    except TooManySteps:
        return None
    found = [node for node, _ in nodes(tree)]
    parsed = parse(POWERSHELL, command)
    if gaps & _GAPS or any(_is_newer(source, node) for node in found):
        return True
    names = [_cmdlet(call.name) for call in parsed.calls]
    known = rows_of("since_powershell_6")
    for name, call in zip(names, parsed.calls, strict=True):
        lacking = known.get(name)
        if lacking is None:
            continue
        stated = {word[1:].partition(":")[0].lower() for word in call.arguments if word[:1] == "-"}
        if not lacking or stated & {word.lower() for word in lacking}:
            return True
    if _PROCESSES & {*names} and _OF_PROCESSES.search(command):
        return True
    splats = any(word.startswith("@") for call in parsed.calls for word in call.arguments)
    open_ended = parsed.has_dynamic_calls or splats or not parsed.parses
    return None if open_ended or any(node.type in _UNDECIDED for node in found) else False


def counted(commands: Iterable[str]) -> Counter[bool | None]:
    """How many commands use what 5.1 lacks, do not, and are not decided (None)."""
    return Counter(map(lacks, commands))


def _cmdlet(name: str) -> str:
    """A name without its module, or what an alias means, in lower case."""
    low = (name.rpartition("\\")[2] or name).lower()
    return " ".join(rows_of("aliases").get(low, [low])).lower()


def _is_newer(source: bytes, node: Node) -> bool:
    if node.type in _NODES:
        return True
    if node.type in _LEAVES:
        return bool(_WORDS.fullmatch(text_of(source, node)))
    part = _PARTS.get(node.type)
    return bool(part and part.search(text_of(source, node)))
