"""Memberships have one meaning: estimator, table, JSON, report page and model file say the same about every sample."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")
pytest.importorskip("jinja2")
import pyarrow as pa
import pyarrow.parquet as pq

from afcm import AFCM, load_model
from afcm.metrics.ambiguity import ambiguity
from afcm.models.fitted_graph import METHOD_WORDS
from afcm.tabular import read_table
from afcm.tabular.columns import to_matrix
from tests.estimators.test_memberships import DATA


def read_page(path, n_clusters):
    """The page's text, and the labels and memberships that its script reads."""
    page = path.read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)[1])
    memberships = np.zeros((len(data["labels"]), n_clusters))
    for row, pairs in zip(memberships, data["memberships"], strict=True):
        row[pairs[::2]] = pairs[1::2]
    return page, data["labels"], memberships


@pytest.mark.parametrize("name", DATA)
def test_everything_says_the_same(afcm, folder, name):
    X, c, method = DATA[name]
    columns = [f"x{j}" for j in range(X.shape[1])]
    table = pa.table(dict(zip(columns, X.T, strict=True)))
    pq.write_table(table, folder / "X.parquet")
    options = ["--clusters", c, "--scale", "none", "--model", "m.afcm", "--report", "report.html", "--json"]
    done = afcm("fit", "X.parquet", *options, "--out", "fit.csv")
    assert done.code == 0, done.err
    assert afcm("fit", "X.parquet", "--clusters", c, "--scale", "none", "--out", "fit.jsonl").code == 0
    assert afcm("predict", "m.afcm", "X.parquet", "--out", "predicted.csv").code == 0

    model, loaded = AFCM(c, random_state=0).fit(X), load_model(folder / "m.afcm")
    frame = table.to_pandas()
    page, page_labels, of_page = read_page(folder / "report.html", c)
    names = [f"membership_{j}" for j in range(c)]
    fitted, predicted = (read_table(folder / f"{kind}.csv") for kind in ("fit", "predicted"))
    lines = [json.loads(line) for line in (folder / "fit.jsonl").read_text().splitlines()]
    said = {
        "predict_proba": (model.predict_proba(X), model.predict(X)),
        "CSV of fit": (to_matrix(fitted, names), fitted["label"]),
        "CSV of predict": (to_matrix(predicted, names), predicted["label"]),
        "JSON lines": ([[line[name] for name in names] for line in lines], [line["label"] for line in lines]),
        "report page": (of_page, page_labels),
        "loaded model": (loaded.memberships_, loaded.labels_),
        "loaded model, predict_proba": (loaded.predict_proba(frame), loaded.predict(frame)),
    }
    np.testing.assert_array_equal(model.labels_, model.memberships_.argmax(axis=1))
    for where, (memberships, labels) in said.items():
        np.testing.assert_allclose(memberships, model.memberships_, rtol=0, atol=1e-6, err_msg=where)
        np.testing.assert_array_equal(labels, model.labels_, err_msg=where)
        np.testing.assert_array_equal(np.argmax(memberships, axis=1), labels, err_msg=where)

    found, doubt = json.loads(done.out), ambiguity(model.memberships_)
    assert (found["membership_method"], found["sizes"]) == (method, np.bincount(model.labels_).tolist())
    assert found["crispness"] == pytest.approx(model.crispness_, abs=1e-6)
    assert found["ambiguous"] == (doubt >= 0.5).sum()
    for written in (fitted, predicted):
        np.testing.assert_allclose(written["ambiguity"], doubt, rtol=0, atol=1e-6)
    assert f"The memberships are {METHOD_WORDS[method]}" in page
