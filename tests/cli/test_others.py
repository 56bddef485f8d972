"""``afcm select``, ``compare``, ``info``, ``demo``; help, progress, and being stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")
from afcm import select_n_clusters
from afcm.cli.methods import METHODS
from afcm.cli.progress import SweepForecast
from afcm.tabular import read_table

COMMANDS = ("fit", "predict", "select", "compare", "info", "demo", "reproduce")


def test_select_recommends(afcm, folder):
    done = afcm("select", "iris.csv", "--max", 5, "--label", "species", "--json")
    found = json.loads(done.out)
    assert found["n_clusters"] == 2
    assert [row["n_clusters"] for row in found["table"]] == [1, 2, 3, 4, 5]
    words = afcm("select", "iris.csv", "--max", 4, "--label", "species", "--report", "r.html")
    assert found["reason"] in words.out
    assert found["reason"] in (folder / "r.html").read_text()


def test_select_looks_at_no_more_than_there_can_be(afcm, folder):
    (folder / "few.csv").write_text("a,b\n1,2\n2,1\n8,9\n9,8\n")
    assert len(json.loads(afcm("select", "few.csv", "--json").out)["table"]) == 2


def test_select_is_the_library(afcm):
    from sklearn.datasets import load_iris
    from sklearn.preprocessing import minmax_scale

    found = json.loads(afcm("select", "iris.csv", "--max", 4, "--scale", "minmax", "--json").out)
    expected = select_n_clusters(minmax_scale(load_iris().data), range(1, 5), random_state=0)
    assert found["votes"] == expected.votes


def test_compare_has_a_line_a_method(afcm, folder):
    done = afcm("compare", "iris.csv", "--label", "species", "--out", "a.csv")
    assert done.code == 0
    assert "as many as --label has classes (oracle)" in done.err
    table = read_table(folder / "a.csv")
    assert table["method"].to_pylist() == list(METHODS)
    assert min(table["ACC"].to_pylist()) > 0.5
    for name in METHODS:
        assert name in done.out


def test_compare_keeps_going_when_a_method_cannot(afcm, folder):
    (folder / "few.csv").write_text("a,b\n1,2\n2,1\n8,9\n")
    rows = json.loads(afcm("compare", "few.csv", "--clusters", 2, "--method", "AFCM,SpectralBaseline", "--json").out)
    assert rows["methods"][0]["method"] == "AFCM"
    assert "n_neighbors=5" in rows["methods"][1]["remark"]


def test_compare_shows_a_method_that_cannot_with_the_reason_alone(afcm, folder):
    (folder / "few.csv").write_text("a,b\n1,2\n2,1\n8,9\n")
    done = afcm("compare", "few.csv", "--clusters", 2, "--method", "CDKM,SpectralBaseline")
    assert done.code == 0
    (line,) = [" ".join(line.split()) for line in done.out.splitlines() if "SpectralBaseline" in line]
    assert line == "SpectralBaseline n_neighbors=5 must be below n_samples=3; use at most 2"
    assert "None" not in done.out


def test_info_tells_what_is_in_a_model(afcm):
    afcm("fit", "iris.csv", "--clusters", 3, "--model", "m.afcm")
    found = json.loads(afcm("info", "m.afcm", "--json").out)
    assert found["estimator"] == "AFCM"
    assert found["info"]["file"] == "iris.csv"
    assert "estimator: AFCM" in afcm("info", "m.afcm").out


@pytest.mark.parametrize("command", COMMANDS)
def test_help(afcm, command):
    done = afcm(command, "--help")
    assert done.code == 0
    assert command in done.out


@pytest.mark.parametrize(
    "arguments", [["--help"], ["fit", "--help"], ["reproduce", "--help"], ["--version"]], ids=" ".join
)
def test_help_does_not_load_scikit_learn(arguments):
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('loaded', sorted({'sklearn', 'scipy', 'pandas'} & set(sys.modules))))\n"
        f"sys.argv = ['afcm', *{arguments!r}]\n"
        "from afcm.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "afcm" in done.stdout
    assert done.stdout.splitlines()[-1] == "loaded []"


def test_exit_codes_are_documented(afcm):
    text = " ".join(afcm("--help").out.split())
    for code in ("0 done", "2 the input", "130", "143"):
        assert code in text
    assert afcm("--version").out.startswith("afcm ")


@pytest.mark.parametrize("more", [["--out", "μ.csv"], ["--json"]], ids=["words", "json"])
def test_what_goes_into_a_pipe_is_utf8(folder, more):
    (folder / "few.csv").write_text("größe,μ\n1,2\n2,1\n8,9\n9,8\n", encoding="utf-8")
    code = "import sys; from afcm.cli import main; sys.argv[0] = 'afcm'; main()"
    command = [sys.executable, "-c", code, "fit", "few.csv", "--clusters", "2", *more]
    for_windows = os.environ | {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}  # what a pipe has there
    done = subprocess.run(command, capture_output=True, check=False, env=for_windows)
    assert done.returncode == 0, done.stderr
    assert "μ" in done.stdout.decode("utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_being_stopped_leaves_nothing(folder, number, code):
    import numpy as np

    np.save(folder / "big.npy", np.random.default_rng(0).normal(size=(300_000, 8)))
    command = ["fit", "big.npy", "--method", "PlainAFCM", "--clusters", "40", "--out", "a.csv", "--report", "r.html"]
    process = subprocess.Popen(
        [sys.executable, "-m", "afcm.cli", *command, "--set", "tol=0", "--set", "max_iter=100000"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONWARNINGS": "default"},
    )
    assert process.stderr.readline().startswith("clustering 300000 rows")
    time.sleep(2)
    process.send_signal(number)
    _, said = process.communicate(timeout=120)
    assert process.returncode == code
    assert "Traceback" not in said
    assert [path.name for path in folder.iterdir() if path.name != "iris.csv"] == ["big.npy"]


class TestSweepForecast:
    def test_a_geometric_series_is_foreseen(self):
        forecast = SweepForecast(1e-6, 300, 1)
        totals = [forecast.update(i, 0.5**i) for i in range(1, 11)]
        assert totals[-1] == pytest.approx(20, abs=1)  # 2⁻²⁰ ≈ 1e-6

    def test_never_beyond_max_iter(self):
        forecast = SweepForecast(1e-6, 30, 1)
        assert [forecast.update(i, 1.0) for i in range(1, 6)][-1] == 30

    def test_runs_to_come_are_counted(self):
        forecast = SweepForecast(1e-2, 100, 3)
        for i in range(1, 8):
            total = forecast.update(i, 0.5**i)
        assert total == pytest.approx(21, abs=3)
        assert forecast.update(1, 0.5) <= 300
        assert forecast.done == 8
