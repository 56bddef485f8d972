"""The house stays in order: who imports whom, what is heavy, and that the docs name things that exist."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "afcm"
HEAVY = {"matplotlib", "torch", "dask", "numba", "cupy", "pandas", "polars", "jinja2"}

# What people look at stands on the rest, never the other way round.
FACES = {"afcm.cli", "afcm.report", "afcm.plots", "afcm.tabular", "afcm.modelfiles", "afcm.experiments"}

# Loaded when the first tensor (or Dask array) arrives, so PyTorch (Dask) is there.
ON_DEVICE = {file for word in ("tensor", "cuda") for file in (SOURCE / "backends").glob(f"{word}*.py")}
IN_CHUNKS = set((SOURCE / "distributed").glob("*.py"))

# module (or folder) → what it must not import
FORBIDDEN = {
    "updates.py": {"afcm"},
    "spectral.py": {"afcm.updates", "afcm.graph", "afcm.models", "afcm.estimators", "sklearn"},
    "threads.py": {"afcm"},
    "backends": {"afcm.graph", "afcm.spectral", "afcm.starts", "afcm.models", "afcm.estimators"},
    "distributed": {"afcm.graph", "afcm.spectral", "afcm.starts", "afcm.models", "afcm.estimators"},
    "alternating.py": {"afcm", "sklearn"},
    "checkpoints": {"afcm.estimators", "afcm.models", "sklearn"},
    "cells.py": {"afcm", "sklearn"},
    "neighbors.py": {"afcm.graph", "afcm.models", "afcm.estimators"},
    "graph.py": {"afcm.estimators", "afcm.models", "afcm.starts", "sklearn"},
    "models": {"afcm.estimators", "afcm.baselines", "afcm.metrics", "afcm.datasets", "sklearn"},
    "starts.py": {"afcm.estimators", "afcm.models"},
    "metrics": {"afcm.estimators", "afcm.models", "afcm.datasets"},
    "datasets": {"afcm.estimators", "afcm.models"},
    "estimators": {"afcm.baselines", "afcm.datasets", "afcm.demo", *FACES},
    "selection": {"afcm.cli", "afcm.report", "afcm.experiments"},
    "plots": {"afcm.cli", "afcm.report", "afcm.experiments", "afcm.tabular", "afcm.demo"},
    "report": {"afcm.cli", "afcm.experiments", "afcm.tabular", "afcm.demo"},
    "modelfiles": FACES - {"afcm.modelfiles"},
    "tabular": {"afcm.cli", "afcm.report", "afcm.estimators", "afcm.models", "afcm.demo"},
}


def imported(path, everywhere=True):
    """Names of the modules a file imports (``everywhere``: inside functions too)."""
    tree = ast.parse(path.read_text())
    nodes = ast.walk(tree) if everywhere else tree.body
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("place", FORBIDDEN)
def test_who_may_import_whom(place):
    target = SOURCE / place
    files = [target] if target.is_file() else sorted(target.rglob("*.py"))
    assert files
    for file in files:
        for name in imported(file):
            for banned in FORBIDDEN[place]:
                assert not f"{name}.".startswith(f"{banned}."), f"{file.name} imports {name}"


def test_heavy_packages_are_imported_only_when_used():
    for file in set(SOURCE.rglob("*.py")) - ON_DEVICE - IN_CHUNKS:
        assert not {name.split(".")[0] for name in imported(file, everywhere=False)} & HEAVY, file
    code = (
        "import sys, sklearn.cluster, sklearn.neighbors, sklearn.mixture; before = set(sys.modules)\n"
        f"import afcm; afcm.AFCM, afcm.PlainAFCM; sys.exit(bool((set(sys.modules) - before) & {HEAVY!r}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_importing_the_package_loads_nothing_heavy_at_all():
    code = "import sys, afcm; sys.exit('sklearn' in sys.modules or 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_public_names_exist():
    import afcm
    import afcm.baselines
    import afcm.datasets
    import afcm.metrics

    for module in (afcm, afcm.baselines, afcm.datasets, afcm.metrics):
        for name in module.__all__:
            assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'AFCN'"):
        afcm.AFCN  # noqa: B018


def rows():
    lines = (ROOT / "docs" / "equations.md").read_text().splitlines()
    return [line for line in lines if line.startswith("|") and "::" in line]


@pytest.mark.parametrize("row", rows())
def test_equations_name_functions_and_tests_that_exist(row):
    function, test = row.split("|")[3].strip(" `"), row.split("|")[4].strip(" `")
    module, name = function.rsplit(".", 1)
    assert callable(getattr(importlib.import_module(module), name))
    file, test_name = test.split("::")
    assert re.search(rf"^def {test_name}\(", (ROOT / file).read_text(), re.MULTILINE), test


def test_the_equation_table_is_not_empty():
    assert len(rows()) > 10
