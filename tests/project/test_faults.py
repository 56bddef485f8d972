"""What the machine does to us: kills, full disks, damaged caches, packages that are missing or too old."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm import AFCM, PlainAFCM, plots
from afcm._util import optional
from afcm._util.atomic_files import remove_drafts
from afcm.compiled import dispatch
from afcm.compiled.jit import compile_numba
from afcm.exceptions import AFCMWarning, NotConvergedWarning
from afcm.linalg import eigensolver
from afcm.metrics import adjusted_rand

X, y = make_blobs(300, 3, centers=4, cluster_std=0.5, random_state=0)

# ---- killed while writing

WRITER = """
import itertools, sys
from afcm._util.atomic_files import replace_file
for letter in itertools.cycle("ab"):
    with replace_file(sys.argv[1]) as draft, open(draft, "w") as file:
        for _ in range(100):
            file.write(10_000 * letter)
    print("written", flush=True)
"""


def test_a_kill_during_the_writing_leaves_a_whole_file(tmp_path):
    path = tmp_path / "a.txt"
    for moment in (0.0, 0.001, 0.002, 0.005, 0.01):
        with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "written\n"
            time.sleep(moment)
            process.kill()
        assert path.read_text() in (1_000_000 * "a", 1_000_000 * "b")
    remove_drafts(path)
    assert list(tmp_path.iterdir()) == [path]


# ---- an eigen-solver that does not converge


def test_a_solver_that_stops_early_says_so_and_is_still_right(monkeypatch):
    touching = make_blobs(600, 3, centers=4, cluster_std=1.5, random_state=0)[0]
    model = AFCM(4, kernel="adaptive", graph_weight=1e6, random_state=0)
    expected, patient = model.fit(touching).labels_, eigensolver.leading_eigenvectors

    def impatient(*arguments, **options):
        return patient(*arguments, **(options | {"max_steps": 1}))

    for name in ("DENSE_LIMIT", "DENSE_PER_VECTOR", "DENSE_MOST"):
        monkeypatch.setattr(eigensolver, name, 0)
    monkeypatch.setattr(eigensolver, "leading_eigenvectors", impatient)
    with pytest.warns(NotConvergedWarning, match="the eigen-solver stopped with a relative residual of"):
        model.fit(touching)
    assert model.eigen_residual_ > 0
    rises = np.diff(model.history_["objective"])
    assert (rises <= 1e-9 * np.abs(model.history_["objective"][1:])).all()
    assert adjusted_rand(model.labels_, expected) > 0.9


def test_a_search_that_takes_too_long_is_left_to_the_dense_solver(monkeypatch):
    expected = AFCM(4, random_state=0).fit(X)
    monkeypatch.setattr(eigensolver, "DENSE_LIMIT", 0)
    monkeypatch.setattr(eigensolver, "DENSE_PER_VECTOR", 0)
    monkeypatch.setattr(eigensolver, "DENSE_TRADE", 10**9)
    model = AFCM(4, random_state=0).fit(X)
    assert adjusted_rand(model.labels_, expected.labels_) == adjusted_rand(model.labels_, y) == 1.0


# ---- caches


def doubled(values):
    for i in range(values.size):
        values[i] *= 2


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_damaged_cache_of_machine_code_costs_a_compilation(ending, tmp_path, monkeypatch):
    numba = pytest.importorskip("numba", reason="Numba is not installed")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    compile_numba(doubled, set())(np.ones(3))
    for file in tmp_path.rglob(f"*.{ending}"):
        file.write_bytes(b"damaged")
    values = np.ones(3)
    compile_numba(doubled, set())(values)
    np.testing.assert_array_equal(values, 2.0)


# ---- packages that are missing or too old


@pytest.mark.parametrize("package", ["typer", "pyarrow", "rich"])
def test_the_command_line_says_what_to_install(package):
    code = f"import sys; sys.modules[{package!r}] = None; import afcm.cli"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"the command line needs {package}: pip install 'afcm[cli]'\n"


def test_a_device_without_pytorch_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    message = r"device='cuda' needs PyTorch: pip install 'afcm\[gpu\]', or use device=None"
    with pytest.raises(ValueError, match=message):
        PlainAFCM(4, device="cuda").fit(X)


def old(monkeypatch, package):
    """As if an old version were installed."""
    real = optional.installed_version
    monkeypatch.setattr(optional, "installed_version", lambda name: "0.1.2" if name == package else real(name))


def test_packages_that_are_too_old_are_said_with_both_versions(monkeypatch):
    old(monkeypatch, "matplotlib")
    message = r"plotting needs matplotlib [\d.]+ or newer, and this is 0\.1\.2: pip install -U 'afcm\[plot\]'"
    with pytest.raises(ImportError, match=message):
        plots.ConvergenceDisplay({"objective": [1.0]}).plot()


def broken(monkeypatch):
    """As Numba does it where NumPy is too new for it."""
    real = optional.import_module

    def import_module(name):
        if name == "numba":
            raise ImportError("Numba needs NumPy 1.26 or less. Got NumPy 2.4.")
        return real(name)

    monkeypatch.setattr(optional, "import_module", import_module)


@pytest.mark.parametrize(
    ("fault", "said"), [(old, r"numba [\d.]+ or newer, and this is 0\.1\.2"), (broken, "1.26 or less")]
)
def test_a_numba_that_cannot_be_used_costs_time_and_a_word(fault, said, monkeypatch):
    pytest.importorskip("numba", reason="Numba is not installed")
    fault(*[monkeypatch, "numba"][: fault.__code__.co_argcount])
    monkeypatch.setattr(dispatch, "WORTH_FUSING", 0)
    with pytest.warns(AFCMWarning, match=f"numba is not used, so this is slower: .*{said}"):
        model = PlainAFCM(4, random_state=0).fit(X)
    assert adjusted_rand(model.labels_, y) == 1.0


def test_versions_are_compared_as_numbers():
    assert optional.parse_version("2.10.1rc1+cpu") == (2, 10, 1) > optional.parse_version("2.9")
    assert optional.lowest_version("matplotlib") == "3.9"
    assert optional.lowest_version("no-such-package") == optional.installed_version("no-such-package") == ""
