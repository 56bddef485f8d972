"""Mutants of a module: its source with one small mistake each."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

OPERATORS = {
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Div],
    ast.Div: [ast.Mult],
    ast.Pow: [ast.Mult],
    ast.BitXor: [ast.BitOr],
    ast.RShift: [ast.LShift],
}
COMPARISONS = {
    ast.Gt: [ast.GtE, ast.Lt],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Lt: [ast.LtE, ast.Gt],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Eq: [ast.NotEq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
}
# Functions that are easily taken for each other.
CALLS = {
    "min": "max",
    "max": "min",
    "sum": "max",
    "mean": "sum",
    "median": "max",
    "exp": "log",
    "log": "exp",
    "sqrt": "abs",
    "ones": "zeros",
    "zeros": "ones",
    "ones_like": "zeros_like",
    "zeros_like": "ones_like",
    "full_like": "empty_like",
    "cumsum": "cumprod",
}
Where = tuple[int, ...]


@dataclass(frozen=True)
class Mutant:
    """A module with one mistake.

    Attributes
    ----------
    place : the function it is in, or ``module``
    before, after : the line as ``ast.unparse`` writes it, right and wrong
    source : the whole module
    """

    place: str
    before: str
    after: str
    source: str

    @property
    def name(self) -> str:
        """Name without line numbers, which move."""
        return f"{self.place}: {self.before}  →  {self.after}"


def mutants(source: str) -> list[Mutant]:
    """List all mutants of a source, each once."""
    tree = ast.parse(source)
    before = ast.unparse(tree)
    found: dict[str, Mutant] = {}
    for place, route in find_sites(tree):
        right = node_at(tree, route)
        for change in list_changes(right, place):
            replace(tree, route, change(copy.deepcopy(right)))
            text = ast.unparse(tree)
            replace(tree, route, right)
            if text not in found and is_valid(text):
                found[text] = Mutant(place, *changed_line(before, text), text)
    return list(found.values())


def is_valid(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def changed_line(before: str, after: str) -> tuple[str, str]:
    """Line in which two sources differ, before and after; a statement is one line of ``ast.unparse``."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    return next((a.strip(), b.strip()) for a, b in pairs if a != b)


def find_sites(tree: ast.Module) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Find every node that runs, with the function it is in; no annotations, docstrings or messages of errors."""

    def walk(node: ast.AST, place: str, route: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            place = node.name if place == "module" else f"{place}.{node.name}"
        yield place, route
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params") or is_words(node, name):
                continue
            for step, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(child, ast.AST) and not is_docstring(child):
                    yield from walk(child, place, (*route, (name, step)))

    return walk(tree, "module", ())


def is_words(node: ast.AST, field: str) -> bool:
    """Whether a field holds the message of an error or an import, which are not changed."""
    return (isinstance(node, ast.Raise) and field == "exc") or isinstance(node, (ast.Import, ast.ImportFrom))


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def node_at(tree: ast.AST, route: tuple[Any, ...]) -> Any:
    node: Any = tree
    for name, step in route:
        node = getattr(node, name) if step is None else getattr(node, name)[step]
    return node


def replace(tree: ast.AST, route: tuple[Any, ...], node: ast.AST) -> None:
    *way, (name, step) = route
    owner = node_at(tree, tuple(way))
    if step is None:
        setattr(owner, name, node)
    else:
        getattr(owner, name)[step] = node


Change = Callable[[Any], ast.AST]


def list_changes(node: ast.AST, place: str) -> Iterator[Change]:
    """List the mistakes one can make at a node."""
    for kind, found in CHANGES:
        if isinstance(node, kind):
            yield from found(node)
    if place != "module" and isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)):
        yield lambda _old: ast.Pass()


def set_fields(**fields: Any) -> Change:

    def change(old: Any) -> Any:
        for name, value in fields.items():
            setattr(old, name, value)
        return old

    return change


def change_constant(node: ast.Constant) -> Iterator[Change]:
    """Add one, subtract one, negate, or change the word."""
    value = node.value
    if isinstance(value, bool):
        yield set_fields(value=not value)
    elif isinstance(value, (int, float)):
        yield from (set_fields(value=other) for other in (value + 1, value - 1))
    elif isinstance(value, str):
        yield set_fields(value=value + "?")


def change_comparison(node: ast.Compare) -> Iterator[Change]:
    if len(node.ops) == 1:
        yield from (set_fields(ops=[other()]) for other in COMPARISONS.get(type(node.ops[0]), []))


def change_call(node: ast.Call) -> Iterator[Change]:
    """Call a similar function, or leave out an argument."""
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in CALLS:
        yield set_fields(func=ast.Attribute(function.value, CALLS[function.attr], ast.Load()))
    elif isinstance(function, ast.Name) and function.id in CALLS:
        yield set_fields(func=ast.Name(CALLS[function.id], ast.Load()))
    if len(node.args) > 1:
        yield set_fields(args=node.args[:-1])
    for number in range(len(node.keywords)):
        yield set_fields(keywords=node.keywords[:number] + node.keywords[number + 1 :])


def negate(node: Any) -> ast.AST:
    return ast.UnaryOp(ast.Not(), node)


CHANGES: list[tuple[type, Callable[[Any], Iterator[Change]]]] = [
    (ast.BinOp, lambda node: (set_fields(op=other()) for other in OPERATORS.get(type(node.op), []))),
    (ast.AugAssign, lambda node: (set_fields(op=other()) for other in OPERATORS.get(type(node.op), []))),
    (ast.BoolOp, lambda node: iter([set_fields(op=ast.Or() if isinstance(node.op, ast.And) else ast.And())])),
    (ast.UnaryOp, lambda _node: iter([lambda old: old.operand])),
    (ast.Compare, change_comparison),
    (ast.Constant, change_constant),
    (ast.Call, change_call),
    (ast.Attribute, lambda node: iter([lambda old: old.value] if node.attr == "T" else [])),
    (ast.If, lambda _node: iter([lambda old: set_fields(test=negate(old.test))(old)])),
    (ast.IfExp, lambda _node: iter([lambda old: set_fields(test=negate(old.test))(old)])),
    (ast.Return, lambda node: iter([set_fields(value=None)] if node.value else [])),
]
