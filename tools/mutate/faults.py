"""The small faults that can be put into a Python file, each named by its place and by the words it changes.

comparison  `<` becomes `<=` or `>=`, `==` becomes `!=`, `in` becomes `not in`, and so on
logic       `and` becomes `or`, a `not` is dropped, a bare condition is negated, `any` becomes `all`
number      a number is one more or less, `True` becomes `False`, `+` becomes `-`, `*` becomes `/`, `min` becomes `max`
arguments   the first two arguments of a call change places

Annotations, decorators, assertions and texts are left alone.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_TWINS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_BY_NATURE_IN_ORDER = {"isinstance", "issubclass", "getattr", "hasattr", "setattr"}


@dataclass(frozen=True)
class Fault:
    """One fault. `place` and `variant` find it again: the node's number in its file's tree, and which change of it."""

    file: str
    line: int
    function: str
    kind: str
    before: str
    after: str
    place: int
    variant: int


class _Site(NamedTuple):
    """A node with where it hangs: its parent's field, its place in the field's list, its statement and function."""

    parent: ast.AST
    field: str
    position: int | None
    node: ast.AST
    statement: ast.stmt | None
    function: str


class _Change(NamedTuple):
    kind: str
    node: ast.AST


def faults_of(file: str, source: str) -> list[Fault]:
    """Every fault of a file, in the order of its tree."""
    found = []
    for place, site in enumerate(_sites(ast.parse(source))):
        for variant, change in enumerate(_changes(site)):
            line = site.statement.lineno if site.statement else 1
            before, after = ast.unparse(site.node), ast.unparse(change.node)
            found.append(
                Fault(file, line, site.function, change.kind, before, after, place, variant)
            )
    return found


def normal_form(source: str) -> str:
    """The file's text as `ast` writes it: the tree is the same, the comments are gone, the lines are others."""
    return ast.unparse(ast.parse(source)) + "\n"


def with_fault(source: str, fault: Fault) -> str:
    """The normal form of the file's text with a fault in it."""
    tree = ast.parse(source)
    site = next(site for place, site in enumerate(_sites(tree)) if place == fault.place)
    changed = list(_changes(site))[fault.variant].node
    if site.position is None:
        setattr(site.parent, site.field, changed)
    else:
        getattr(site.parent, site.field)[site.position] = changed
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def lines_of(source: str, fault: Fault) -> range:
    """The lines of a fault's statement in the file's normal form; of a compound statement the head's."""
    sites = _sites(ast.parse(normal_form(source)))
    statement = next(site.statement for place, site in enumerate(sites) if place == fault.place)
    if statement is None:
        return range(1, 2)
    body = getattr(statement, "body", None)
    last = (
        body[0].lineno - 1
        if isinstance(body, list) and body
        else statement.end_lineno or statement.lineno
    )
    return range(statement.lineno, max(last, statement.lineno) + 1)


def _sites(tree: ast.AST) -> Iterator[_Site]:
    yield from _below(tree, None, "<module>")


def _below(node: ast.AST, statement: ast.stmt | None, function: str) -> Iterator[_Site]:
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "op", "ops", "ctx"):
            continue
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for position, child in children:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Assert) or _is_guard(child):
                continue
            own = child if isinstance(child, ast.stmt) else statement
            yield _Site(node, field, position, child, own, function)
            inside = function
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inside = f"{function}.{child.name}".removeprefix("<module>.")
            yield from _below(child, own, inside)


def _is_guard(node: ast.AST) -> bool:
    """`if TYPE_CHECKING` and `if __name__ == "__main__"`, which no test runs."""
    tested = ast.walk(node.test) if isinstance(node, ast.If) else ()
    return any(
        isinstance(part, ast.Name) and part.id in ("TYPE_CHECKING", "__name__") for part in tested
    )


def _changes(site: _Site) -> Iterator[_Change]:
    node = site.node
    match node:
        case ast.Compare():
            for at, operator in enumerate(node.ops):
                for other in _COMPARISONS[type(operator)]:
                    changed = copy.deepcopy(node)
                    changed.ops[at] = other()
                    yield _Change("comparison", changed)
        case ast.BoolOp():
            other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield _Change("logic", ast.BoolOp(other_op, node.values))
        case ast.UnaryOp(op=ast.Not()):
            yield _Change("logic", node.operand)
        case ast.BinOp() | ast.AugAssign() if type(node.op) in _ARITHMETIC and not _joins_texts(
            node
        ):
            changed_op = copy.deepcopy(node)
            changed_op.op = _ARITHMETIC[type(node.op)]()
            yield _Change("number", changed_op)
        case ast.Constant(value=bool(truth)):
            yield _Change("number", ast.Constant(not truth))
        case ast.Constant(value=int(number) | float(number)):
            yield _Change("number", ast.Constant(number + 1))
            yield _Change("number", ast.Constant(number - 1))
        case ast.Call(func=ast.Name(id=name)) if name in _TWINS:
            yield _Change(
                "number" if name in ("min", "max") else "logic", _called(node, _TWINS[name])
            )
        case ast.Call(args=[first, second, *_]) if _may_swap(node, first, second):
            yield _Change(
                "arguments", ast.Call(node.func, [second, first, *node.args[2:]], node.keywords)
            )
    if site.field in ("test", "ifs") and isinstance(
        node, ast.Name | ast.Attribute | ast.Call | ast.Subscript
    ):
        yield _Change("logic", ast.UnaryOp(ast.Not(), node))


def _joins_texts(node: ast.AST) -> bool:
    """Whether `+` joins texts or `%` fills one in: another operator would be no small fault."""
    match node:
        case ast.BinOp():
            return _joins_texts(node.left) or _joins_texts(node.right)
        case ast.AugAssign():
            return _joins_texts(node.value)
        case ast.Constant(value=str() | bytes()):
            return True
    return isinstance(node, ast.JoinedStr)


def _called(call: ast.Call, name: str) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), call.args, call.keywords)


def _may_swap(call: ast.Call, first: ast.expr, second: ast.expr) -> bool:
    """Two plain names or fields that differ, where a slip of the hand could change their places."""
    plain = all(isinstance(argument, ast.Name | ast.Attribute) for argument in (first, second))
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    return plain and name not in _BY_NATURE_IN_ORDER and ast.dump(first) != ast.dump(second)
