"""A fitted clusterer in a notebook: numbers that are right, HTML that is whole, and scikit-learn's diagram kept."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from afcm import AFCM, FCM, PlainAFCM
from afcm.baselines import SpectralBaseline
from afcm.estimators.notebook import MOST_ROWS, describe_clusters, sample_curve, write_summary
from afcm.metrics.ambiguity import ambiguity

X, _ = make_blobs(200, centers=3, cluster_std=2.0, random_state=0)


def summary_of(model):
    """The parsed summary: it must be well-formed."""
    return ElementTree.fromstring(write_summary(model))


def test_numbers_are_those_of_the_fit():
    model = AFCM(3, random_state=0).fit(X)
    rows = describe_clusters(model)
    assert [row.size for row in rows] == sorted(np.bincount(model.labels_), reverse=True)
    doubtful = ambiguity(model.memberships_) >= 0.5
    for row in rows:
        own = model.labels_ == row.number
        assert row.n_doubtful == doubtful[own].sum()
        assert row.n_outliers == (model.outlier_scores_[own] >= 0.5).sum()
        assert row.curve[0] == model.memberships_[own].max()
        assert row.curve[-1] == model.memberships_[own].max(axis=1).min()
        assert (np.diff(row.curve) <= 0).all()


def test_the_sentence_and_the_table_say_them():
    model = AFCM(3, random_state=0).fit(X)
    page = summary_of(model)
    text = "".join(page.find("p").itertext())
    assert text.startswith("AFCM: 3 clusters in 200 samples; ")
    assert f"after {model.n_iter_} sweep" in text
    cells = [[cell.text for cell in row] for row in page.iter("tr")]
    assert cells[0][:4] == ["cluster", "samples", "in doubt", "outliers"]
    assert [int(row[1]) for row in cells[1:]] == [row.size for row in describe_clusters(model)]
    pictures = page.findall(".//svg")
    assert len(pictures) == 3
    assert all(picture.get("aria-label").startswith("memberships of cluster") for picture in pictures)


def test_clusterers_without_scores_have_no_such_column():
    heads = [head.text for head in summary_of(FCM(3, random_state=0).fit(X)).iter("th")]
    assert "outliers" not in heads


def test_many_clusters_are_cut_and_empty_ones_drawn():
    page = summary_of(PlainAFCM(MOST_ROWS + 3, n_init=1, tol=0.1, random_state=0).fit(X))
    assert len(page.findall(".//tbody/tr")) == MOST_ROWS
    assert page.findall("p")[-1].text == "… and 3 more clusters"
    assert sample_curve(np.array([])).size == 0


@pytest.mark.parametrize("model", [AFCM(2), PlainAFCM(2), SpectralBaseline(2)], ids=lambda model: type(model).__name__)
def test_the_diagram_stays(model):
    before = model._repr_html_()
    assert "afcm-fit" not in before
    assert "sk-top-container" in before
    after = model.fit(X)._repr_html_()
    assert "sk-top-container" in after
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    assert ("afcm-fit" in bundle["text/html"]) == ("afcm-fit" in after)


def test_text_alone_where_scikit_learn_shows_text():
    model = PlainAFCM(2, random_state=0).fit(X)
    with sklearn.config_context(display="text"):
        assert list(model._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(model, "_repr_html_")


def test_a_pipeline_is_still_scikit_learns():
    assert "sk-top-container" in make_pipeline(StandardScaler(), PlainAFCM(2, random_state=0)).fit(X)._repr_html_()


def test_lazy_memberships_are_not_worked_out():
    da = pytest.importorskip("dask.array")
    model = PlainAFCM(2, random_state=0).fit(da.from_array(X, chunks=(50, 2)))

    def refuse(*_):
        raise AssertionError("worked out")

    model.memberships_ = model.memberships_.map_blocks(refuse, dtype=float, meta=np.empty((0, 0)))
    assert re.search(r"2 clusters in 200 samples; converged", write_summary(model))
