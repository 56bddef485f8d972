"""The source speaks plain English: a stranger can read every module's first line and every public docstring."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

from afcm.catalogue import CATALOGUE

SOURCE = Path(__file__).parents[2] / "src" / "afcm"
MODULES = sorted(SOURCE.rglob("*.py"))
# Rooms whose ``__all__`` is for users.
ROOMS = ("baselines", "checkpoints", "datasets", "metrics", "modelfiles", "plots")
RIDDLES = (
    "What both tell, and tell differently.",
    "The word for it.",
    "That of F.",
    "What the axes are, and from where to where where that means something.",
)


def docstrings():
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            text = ast.get_docstring(node) if isinstance(node, kinds) else None
            if text:
                yield f"{path.relative_to(SOURCE)}:{getattr(node, 'name', 'module')}", text


def test_few_docstrings_have_four_words_or_less():
    short = [place for place, text in docstrings() if len(text.split()) <= 4]
    assert len(short) < 30, short


def test_no_docstring_is_a_riddle():
    found = dict(docstrings())
    assert not [place for place, text in found.items() if text in RIDDLES]
    assert not [place for place, text in found.items() if text.startswith(("What ", "The same ", "Where it "))]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_says_what_it_is_for(path):
    text = ast.get_docstring(ast.parse(path.read_text()))
    assert text
    assert len(text.split("\n")[0].split()) >= 4


@pytest.mark.parametrize("room", ["afcm", *(f"afcm.{room}" for room in ROOMS)])
def test_public_names_have_docstrings(room):
    module = importlib.import_module(room)
    for name in module.__all__:
        found = getattr(module, name)
        if inspect.isclass(found) or inspect.isfunction(found):
            assert inspect.getdoc(found), f"{room}.{name}"


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_public_methods_have_docstrings(entry):
    for name, method in inspect.getmembers(entry.cls, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.getdoc(method), name
