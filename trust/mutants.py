"""One small mistake at a time: the mutants of a module's source."""

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
        """What it changes, without line numbers, which move."""
        return f"{self.place}: {self.before}  →  {self.after}"


def mutants(source: str) -> list[Mutant]:
    """All of them, each once."""
    tree = ast.parse(source)
    before = ast.unparse(tree)
    found: dict[str, Mutant] = {}
    for place, route in sites(tree):
        right = at(tree, route)
        for change in changes(right, place):
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
    """Where two sources differ; a statement is one line of ``ast.unparse``."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    return next((a.strip(), b.strip()) for a, b in pairs if a != b)


def sites(tree: ast.Module) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Every node that runs, with the function it is in; no annotations, docstrings or messages of errors."""

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
    """What an error says, and imports."""
    return (isinstance(node, ast.Raise) and field == "exc") or isinstance(node, (ast.Import, ast.ImportFrom))


def is_docstring(node: ast.AST) -> bool:
    """A string that nobody reads when the program runs."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def at(tree: ast.AST, route: tuple[Any, ...]) -> Any:
    """The node at the end of a route."""
    node: Any = tree
    for name, step in route:
        node = getattr(node, name) if step is None else getattr(node, name)[step]
    return node


def replace(tree: ast.AST, route: tuple[Any, ...], node: ast.AST) -> None:
    """Put another node at the end of a route."""
    *way, (name, step) = route
    owner = at(tree, tuple(way))
    if step is None:
        setattr(owner, name, node)
    else:
        getattr(owner, name)[step] = node


Change = Callable[[Any], ast.AST]


def changes(node: ast.AST, place: str) -> Iterator[Change]:
    """The mistakes one can make at a node."""
    for kind, found in CHANGES:
        if isinstance(node, kind):
            yield from found(node)
    if place != "module" and isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)):
        yield lambda _old: ast.Pass()


def with_(**fields: Any) -> Change:
    """Set fields of the node itself."""

    def change(old: Any) -> Any:
        for name, value in fields.items():
            setattr(old, name, value)
        return old

    return change


def constants(node: ast.Constant) -> Iterator[Change]:
    """One more, one less, the opposite, another word."""
    value = node.value
    if isinstance(value, bool):
        yield with_(value=not value)
    elif isinstance(value, (int, float)):
        yield from (with_(value=other) for other in (value + 1, value - 1))
    elif isinstance(value, str):
        yield with_(value=value + "?")


def comparisons(node: ast.Compare) -> Iterator[Change]:
    """The next operator."""
    if len(node.ops) == 1:
        yield from (with_(ops=[other()]) for other in COMPARISONS.get(type(node.ops[0]), []))


def calls(node: ast.Call) -> Iterator[Change]:
    """A similar function; without one of the optional arguments."""
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in CALLS:
        yield with_(func=ast.Attribute(function.value, CALLS[function.attr], ast.Load()))
    elif isinstance(function, ast.Name) and function.id in CALLS:
        yield with_(func=ast.Name(CALLS[function.id], ast.Load()))
    if len(node.args) > 1:
        yield with_(args=node.args[:-1])
    for number in range(len(node.keywords)):
        yield with_(keywords=node.keywords[:number] + node.keywords[number + 1 :])


def negated(node: Any) -> ast.AST:
    """``not`` before a condition."""
    return ast.UnaryOp(ast.Not(), node)


CHANGES: list[tuple[type, Callable[[Any], Iterator[Change]]]] = [
    (ast.BinOp, lambda node: (with_(op=other()) for other in OPERATORS.get(type(node.op), []))),
    (ast.AugAssign, lambda node: (with_(op=other()) for other in OPERATORS.get(type(node.op), []))),
    (ast.BoolOp, lambda node: iter([with_(op=ast.Or() if isinstance(node.op, ast.And) else ast.And())])),
    (ast.UnaryOp, lambda _node: iter([lambda old: old.operand])),
    (ast.Compare, comparisons),
    (ast.Constant, constants),
    (ast.Call, calls),
    (ast.Attribute, lambda node: iter([lambda old: old.value] if node.attr == "T" else [])),
    (ast.If, lambda _node: iter([lambda old: with_(test=negated(old.test))(old)])),
    (ast.IfExp, lambda _node: iter([lambda old: with_(test=negated(old.test))(old)])),
    (ast.Return, lambda node: iter([with_(value=None)] if node.value else [])),
]
