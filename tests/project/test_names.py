"""Benchmarks, studies, trust and examples are rarely run: the names of ours that they use must exist."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = ("afcm", "benchmarks", "studies", "trust", "tests")
FILES = [path for folder in ("benchmarks", "studies", "trust", "examples") for path in (ROOT / folder).glob("*.py")]


def imported(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Module, name in it and local name of everything imported from our own packages, in functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS:
            yield from ((node.module, alias.name, alias.asname or alias.name) for alias in node.names)


def find(module: str, name: str) -> object:
    """What ``from module import name`` gives."""
    owner = import_module(module)
    return getattr(owner, name) if hasattr(owner, name) else import_module(f"{module}.{name}")


def missing(tree: ast.AST) -> Iterator[str]:
    """Names that are imported, or read from a module or class that is imported, and do not exist."""
    found = {}
    for module, name, local in imported(tree):
        try:
            found[local] = find(module, name)
        except ModuleNotFoundError as error:
            if error.name.split(".")[0] in OURS:
                yield f"{module}.{name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in found:
            owner = found[node.value.id]
            known = inspect.ismodule(owner) or inspect.isclass(owner)
            if known and not hasattr(owner, node.attr) and node.attr not in getattr(owner, "__annotations__", {}):
                yield f"{node.value.id}.{node.attr}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_names_of_ours_exist(path):
    assert list(missing(ast.parse(path.read_text()))) == []


def test_a_name_that_is_gone_is_found():
    code = "def f():\n    from afcm.graph import affinity, nothing\n    return affinity.neighbor_graph, affinity.gone\n"
    assert list(missing(ast.parse(code))) == ["afcm.graph.nothing", "affinity.gone"]
