"""Several graphs on the command line: the option ``--views``, and where their agreement is told."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")
pytest.importorskip("jinja2")
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import load_wine
from sklearn.preprocessing import minmax_scale

from afcm import AFCM, load_model

FIT = ("fit", "wine.parquet", "--clusters", 3)
WINE = load_wine().data


@pytest.fixture
def wine(folder):
    pq.write_table(pa.table({f"x{j}": column for j, column in enumerate(WINE.T)}), folder / "wine.parquet")
    return folder


def test_json_report_and_model_tell_the_stability(afcm, wine):
    done = afcm(*FIT, "--views", 5, "--json", "--report", "r.html", "--model", "m.afcm", "--out", "a.csv")
    assert done.code == 0, done.err
    model = AFCM(3, n_views=5, random_state=0).fit(minmax_scale(WINE))
    found = json.loads(done.out)
    np.testing.assert_allclose(found["stability"], model.stability_, atol=1e-6)
    assert found["membership_method"] == "views"
    page = (wine / "r.html").read_text(encoding="utf-8")
    for value in model.stability_:
        assert f"stability {value:.2f}" in page
    assert "All clusters are stable" in page
    kept = load_model(wine / "m.afcm")[-1]
    np.testing.assert_allclose(kept.sample_stability_, model.sample_stability_)
    assert "n_views: 5" in afcm("info", "m.afcm").out


def test_without_views_nothing_is_said(afcm, wine):
    done = afcm(*FIT, "--views", 0, "--json", "--report", "r.html")
    found = json.loads(done.out)
    assert (found["membership_method"], "stability" in found) == ("walk", False)
    assert "tability" not in (wine / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("views", ["some", "-1", "1.5"])
def test_a_number_that_is_none_is_refused(afcm, wine, views):
    done = afcm(*FIT, f"--views={views}")
    assert done.code == 2
    assert f"--views {views} must be auto, or a whole number" in done.err


def test_other_methods_compare_no_graphs(afcm, wine):
    done = afcm(*FIT, "--method", "FCM", "--views", 3)
    assert "--views: FCM does not compare graphs; use --method AFCM" in done.err
    assert "say the same" in afcm(*FIT, "--views", 3, "--set", "n_views=4").err
