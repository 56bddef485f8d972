"""Levels on the command line: the option ``--level``, and the tree in the report."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")
pytest.importorskip("jinja2")
import pyarrow as pa
import pyarrow.csv as pacsv
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from afcm import load_model

X, BLOBS = make_blobs(300, centers=[[0, 0], [5, 0], [0, 5], [40, 0], [45, 0], [0, 40]], random_state=0)
COARSE = np.array([0, 0, 0, 1, 1, 2])[BLOBS]
FIT = ("fit", "blobs.csv", "--clusters", 6, "--scale", "none")


@pytest.fixture
def blobs(folder):
    pacsv.write_csv(pa.table({"a": X[:, 0], "b": X[:, 1]}), folder / "blobs.csv")
    return folder


def test_table_model_and_report_are_those_of_the_level(afcm, blobs):
    done = afcm(*FIT, "--level", 3, "--out", "a.csv", "--model", "m.afcm", "--report", "r.html", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["n_clusters"] == 3
    table = pacsv.read_csv(blobs / "a.csv").to_pydict()
    assert adjusted_rand_score(COARSE, table["label"]) == 1
    model = load_model(blobs / "m.afcm")
    np.testing.assert_array_equal(model.labels_, table["label"])
    assert afcm("predict", "m.afcm", "blobs.csv", "--out", "p.csv").code == 0
    np.testing.assert_array_equal(pacsv.read_csv(blobs / "p.csv").to_pydict()["label"], table["label"])
    page = (blobs / "r.html").read_text(encoding="utf-8")
    assert page.count('<th scope="row" class="num">') == 2
    assert "Fewer clusters" in page


def test_the_report_shows_the_tree_of_the_fit(afcm, blobs):
    afcm(*FIT, "--report", "r.html", "--model", "m.afcm")
    page = (blobs / "r.html").read_text(encoding="utf-8")
    for level in load_model(blobs / "m.afcm").levels_:
        assert f"<td>{level.words}</td>" in page
    assert "Tree of the clusters" in page
    afcm("fit", "blobs.csv", "--clusters", 2, "--report", "r.html")
    assert "Fewer clusters" not in (blobs / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--level", 7), "--level 7 must be at most --clusters 6"),
        (("--level", 3, "--method", "FCM"), "--level: FCM has no levels; use --method AFCM"),
        (("--level", 50, "--clusters", "auto"), "--level 50 is more than the 6 clusters found; give --clusters"),
    ],
)
def test_a_level_that_is_not_there_is_refused(afcm, blobs, arguments, sentence):
    done = afcm(*FIT, *arguments)
    assert done.code == 2
    assert sentence in done.err
