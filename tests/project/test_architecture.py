"""The house stays in order: who imports whom, what is heavy, and that the docs name things that exist."""

from __future__ import annotations

import ast
import doctest
import graphlib
import importlib
import re
import runpy
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "afcm"
HEAVY = {"matplotlib", "torch", "dask", "numba", "cupy", "pandas", "polars", "jinja2"}

# Loaded when the first tensor (or Dask array) arrives, so PyTorch (Dask) is there.
ON_DEVICE = {file for word in ("torch_", "cuda_") for file in SOURCE.rglob(f"{word}*.py")}
IN_CHUNKS = set((SOURCE / "arrays").glob("dask_*.py"))

# The layers: a room imports only from rooms above it (docs/architecture.md shows the same list).
ROOMS = [
    "_typing",
    "exceptions",
    "_util",
    "arrays",
    "equations",
    "compiled",
    "linalg",
    "neighbors",
    "graph",
    "models",
    "fitting",
    "storage",
    "checkpoints",
    "estimators",
    "baselines",
    "catalogue",
    "metrics",
    "datasets",
    "tables",
    "plots",
    "selection",
    "modelfiles",
    "tabular",
    "report",
    "experiments",
    "demo",
    "cli",
]
NAMES = {
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}


def modules_imported(source, known=frozenset(NAMES)):
    """Our own modules that a source imports anywhere in it: inside functions, and by ``import_module("…")`` too."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in inner}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in known - {"afcm"}:
            found.add(node.value)
    return {name for name in found if name.split(".")[0] == "afcm"}


def room_of(module):
    return module.split(".")[1] if "." in module else "afcm"


def forbidden(module, source):
    """What a module imports from its own level of the list or below, its own room apart."""
    own = ROOMS.index(room_of(module))
    rooms = {name: room_of(name) for name in modules_imported(source)}
    return sorted(name for name, room in rooms.items() if room == "afcm" or ROOMS.index(room) > own)


@pytest.mark.parametrize("module", [name for name in NAMES if name != "afcm"])
def test_a_room_imports_only_from_rooms_above_it(module):
    assert not forbidden(module, NAMES[module].read_text())


@pytest.mark.parametrize(
    "line",
    [
        "from afcm.estimators import afcm",
        "import afcm.cli",
        "def late():\n    from afcm.modelfiles import registry",
        "from afcm import AFCM",
        "from importlib import import_module\nimport_module('afcm.models.plain')",
    ],
)
def test_a_forbidden_import_is_noticed(line):
    module = "afcm.graph.affinity"
    assert not forbidden(module, NAMES[module].read_text())
    assert forbidden(module, NAMES[module].read_text() + "\n" + line)


def test_every_room_is_in_the_list_and_few_files_are_in_none():
    assert {room_of(name) for name in NAMES} == {"afcm", *ROOMS}
    assert len(list(SOURCE.glob("*.py"))) <= 6


def test_no_modules_import_each_other_in_a_circle():
    """Within a room, too: sorting fails where there is a cycle."""
    edges = {
        name: {other for other in modules_imported(path.read_text()) if other != name} for name, path in NAMES.items()
    }
    del edges["afcm"]  # the front door knows its rooms by name, and no room knows it
    packages = {name for name, path in NAMES.items() if path.name == "__init__.py"}
    graphlib.TopologicalSorter(
        {
            name: others - {package for package in packages if name.startswith(f"{package}.")}
            for name, others in edges.items()
        }
    ).prepare()


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
    import afcm.experiments
    import afcm.metrics

    for module in (afcm, afcm.baselines, afcm.datasets, afcm.experiments, afcm.metrics):
        for name in module.__all__:
            assert getattr(module, name) is not None
            assert name in dir(module)
    with pytest.raises(AttributeError, match="no attribute 'repeat'"):
        afcm.experiments.repeat  # noqa: B018
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


def hop_rows():
    text = (ROOT / "docs" / "equations.md").read_text()
    lines = text[text.index("## From `AFCM.fit`") :].splitlines()
    return [line.split("|")[2].split(" → ") for line in lines if " → " in line]


def names_of(step):
    """The functions of a step, and the class whose method it is, if it says so."""
    functions, _, owner = step.partition(" (of ")
    names = re.findall(r"`([\w.]+)`", functions.split(", which")[0])
    if "." in names[0]:
        return [names[0].split(".")[1]], names[0].split(".")[0]
    return names, owner.strip(" `)") or None


@cache
def trees_of_the_package():
    return [ast.parse(path.read_text()) for path in NAMES.values()]


def sources_of(name, owner):
    """The functions and classes of this name: methods of a class, or all of the package."""
    trees = trees_of_the_package()
    if owner is not None:
        trees = [
            node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == owner
        ]
    kinds = (ast.FunctionDef, ast.ClassDef)
    return [node for tree in trees for node in ast.walk(tree) if isinstance(node, kinds) and node.name == name]


def mentions(node, name):
    found = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return name in found | {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}


@pytest.mark.parametrize("row", hop_rows(), ids=lambda row: row[-1].strip()[:40])
def test_an_equation_is_at_most_four_hops_from_a_fit(row):
    """Every step of the way stands in the source of the one before it."""
    assert len(row) <= 5
    for before, after in pairwise(row):
        (start, *_), owner = names_of(before)
        sources = sources_of(start, owner)
        assert sources, f"there is no {start} of {owner}"
        for name in names_of(after)[0]:
            assert any(mentions(node, name) for node in sources), f"{start} of {owner} does not call {name}"


def test_the_ways_lead_to_the_functions_of_the_table():
    ends = {name for row in hop_rows() for name in names_of(row[-1])[0]}
    assert {"memberships", "centers", "precision", "leading_eigenvectors", "fade_edges", "diffuse", "embed"} <= ends


def test_the_examples_of_the_architecture_page_run():
    pytest.importorskip("typer", reason="the extra afcm[cli] is not installed")
    from afcm.graph import kernels

    before = dict(kernels.KERNELS)  # the page adds one
    try:
        result = doctest.testfile(str(ROOT / "docs" / "architecture.md"), module_relative=False)
    finally:
        kernels.KERNELS.clear()
        kernels.KERNELS.update(before)
    assert result.attempted > 20
    assert not result.failed


def test_the_page_lists_the_rooms_in_their_order():
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert [name for cell in table for name in re.findall(r"`(\w+)`", cell)] == ROOMS


def test_the_page_names_files_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text()
    for name in re.findall(r"`((?:src/afcm/|tests/|examples/)?[\w/]+\.py)`", page):
        assert (ROOT / name).exists() or (SOURCE / name).exists(), name


@pytest.mark.parametrize("library", ["torch", "triton", "dask", "numba"])
def test_modules_of_a_library_that_is_missing_are_not_looked_through_for_examples(library):
    """Else `make test` ends in an error where the library is not installed."""
    ignored = runpy.run_path(str(ROOT / "conftest.py"))["NEEDS"][library]
    needed = re.compile(rf"^(import|from) {library}\b", re.MULTILINE)
    paths = [path for path in SOURCE.rglob("*.py") if needed.search(path.read_text(encoding="utf-8"))]
    missed = [path for path in paths if not any(path.match(glob) for glob in ignored)]
    assert not missed
