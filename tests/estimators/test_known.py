"""`AFCM.fit(X, y)` with labels known of some samples."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from afcm import AFCM, load_model, save_model
from afcm.datasets import make_rings
from afcm.estimators.known import KnownLabels, number_labels, read_labels
from afcm.exceptions import KnownLabelsWarning
from afcm.metrics import clustering_accuracy
from tests.models.test_known_labels import known_of, stripes


@pytest.fixture(scope="module")
def rings():
    return make_rings(random_state=0)


def assert_same_fit(one, other):
    for name in ("labels_", "memberships_", "embedding_", "cluster_centers_", "paper_memberships_"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.membership_method_ == other.membership_method_ != "known"
    assert not hasattr(other, "cluster_names_")


@pytest.mark.parametrize("y", [np.full(900, -1), [None] * 900, np.full(900, np.nan), np.arange(900) % 3, ["a"] * 900])
def test_a_y_that_knows_none_or_all_changes_no_bit(rings, y):
    X, _ = rings
    assert_same_fit(AFCM(3, random_state=0).fit(X), AFCM(3, random_state=0).fit(X, y))


def test_known_samples_keep_their_cluster_and_others_follow(rings):
    X, y = rings
    known = np.full(len(y), -1)
    known[[0, 400, 800]] = y[[0, 400, 800]]
    model = AFCM(3, random_state=0).fit(X, known)
    assert (model.labels_ == y).all()
    assert np.array_equal(model.memberships_[[0, 400, 800]], np.eye(3)[y[[0, 400, 800]]])
    assert (model.membership_method_, model.known_source_) == ("known", "clusters")
    assert model.cluster_names_.tolist() == ["0", "1", "2"]


def test_classes_that_are_no_clusters_are_found_by_a_discriminant():
    X, y = stripes()
    known = known_of(y, 0.2)
    model = AFCM(2, random_state=0).fit(X, known)
    assert model.known_source_ != "clusters"
    assert (model.labels_[known >= 0] == known[known >= 0]).all()
    assert np.mean(model.labels_[known < 0] == y[known < 0]) > 0.8
    assert clustering_accuracy(y, AFCM(2, random_state=0).fit(X).labels_) < 0.65


@pytest.mark.parametrize("graph", ["neighbors", "anchors"])
def test_new_samples_and_model_files_agree_with_the_fit(graph, tmp_path):
    X, y = make_blobs(300, n_features=3, centers=4, random_state=2)
    known = known_of(y, 0.05)
    model = AFCM(4, graph=graph, n_anchors="auto" if graph == "neighbors" else 60, random_state=0).fit(X, known)
    assert (model.labels_ == y).mean() > 0.99
    assert np.array_equal(model.predict(X), model.labels_)
    assert (model.predict(X + 1e-6) == model.labels_).mean() > 0.99
    save_model(model, tmp_path / "model.afcm")
    loaded = load_model(tmp_path / "model.afcm")
    assert np.array_equal(loaded.predict_proba(X + 0.01), model.predict_proba(X + 0.01))
    assert loaded.cluster_names_.tolist() == model.cluster_names_.tolist()
    assert loaded.known_source_ == model.known_source_


def test_embedding_and_centers_are_those_of_the_fit_without_labels_in_another_order(rings):
    X, y = rings
    known = np.full(len(y), -1)
    known[[0, 400, 800]] = [2, 0, 1]
    plain, model = AFCM(3, random_state=0).fit(X), AFCM(3, random_state=0).fit(X, known)
    order = [plain.labels_[row] for row in (400, 800, 0)]
    assert np.array_equal(model.embedding_, plain.embedding_)
    assert np.array_equal(model.cluster_centers_, plain.cluster_centers_[order])
    assert np.array_equal(model.paper_memberships_, plain.paper_memberships_[:, order])


def test_names_of_any_kind_are_numbered_in_their_order(rings):
    X, y = rings
    known = np.full(len(y), None, dtype=object)
    known[[0, 400, 800]] = ["outer", "inner", "middle"]
    model = AFCM(4, random_state=0).fit(X, known)
    assert model.cluster_names_.tolist() == ["inner", "middle", "outer", ""]
    assert model.labels_[[0, 400, 800]].tolist() == [2, 0, 1]
    series = pd.Series(pd.array([7] + [pd.NA] * 899, dtype="Int64"))
    assert AFCM(3, random_state=0).fit(X, series).cluster_names_.tolist() == ["7", "", ""]


def test_labels_are_read_whatever_holds_them():
    values, unknown = read_labels([1.0, np.nan, -1.0, 2.0])
    assert unknown.tolist() == [False, True, True, False]
    assert number_labels(values[~unknown])[0].tolist() == [1, 2]
    values, unknown = read_labels(np.array(["a", None, -1, 3, pd.NA], dtype=object))
    assert unknown.tolist() == [False, True, True, False, True]
    assert number_labels(values[~unknown])[0].tolist() == ["3", "a"]
    assert number_labels(np.array([True, False]))[0].tolist() == [0, 1]
    assert number_labels(np.array([0.5, 1.0]))[0].tolist() == [0.5, 1.0]


def test_integers_in_range_are_numbers_of_clusters_and_others_are_ranked():
    of_nodes = np.array([0, 1, -1])
    names, numbers = KnownLabels(np.array([0, 2]), of_nodes).number(3)
    assert (names.tolist(), numbers.tolist()) == (["0", "", "2"], [0, 2, -1])
    names, numbers = KnownLabels(np.array([2, 9]), of_nodes).number(3)
    assert (names.tolist(), numbers.tolist()) == (["2", "9", ""], [0, 1, -1])


def test_contradictions_are_reported():
    X, _ = make_blobs(60, centers=2, random_state=0)
    X = np.vstack([X, X[[5, 5, 5]]])
    known = np.full(63, -1)
    known[[5, 60, 61]], known[62] = 0, 1
    with pytest.warns(KnownLabelsWarning, match=r"1 sample \(row 62\)"):
        model = AFCM(2, random_state=0).fit(X, known)
    assert model.labels_[[5, 60, 61, 62]].tolist() == [0, 0, 0, 0]


def test_more_classes_than_clusters_are_refused_and_counted_if_clusters_are():
    X, _ = make_blobs(90, centers=3, cluster_std=0.5, random_state=0)
    known = np.full(90, -1)
    known[:5] = np.arange(5)
    with pytest.raises(ValueError, match=r"y holds 5 different known labels, more than n_clusters=3; use n_clusters=5"):
        AFCM(3).fit(X, known)
    assert AFCM("auto", random_state=0).fit(X, known).n_clusters_ == 5


def test_what_cannot_follow_known_labels_says_so():
    X, _ = make_blobs(30, random_state=0)
    known = np.array([0] * 3 + [-1] * 27)
    with pytest.raises(ValueError, match=r"y has shape \(20,\), expected \(30,\)"):
        AFCM(3).fit(X, known[:20])
    with pytest.raises(ValueError, match="use memberships='auto'"):
        AFCM.paper(3).fit(X, known)
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="need all of X in memory"):
        AFCM(3, graph="anchors", random_state=0).fit(da.from_array(X, chunks=(10, 2)), known)


def test_similarities_follow_known_labels():
    X, y = make_blobs(120, centers=3, random_state=4)
    near = kneighbors_graph(X, 8)
    known = known_of(y, 0.2)
    model = AFCM(3, affinity="precomputed", random_state=0).fit((near + near.T) / 2, known)
    assert model.known_source_ == "clusters"
    assert (model.labels_ == y).mean() > 0.95


def test_tensors_follow_known_labels():
    torch = pytest.importorskip("torch")
    X, y = make_blobs(120, centers=3, random_state=4)
    known = known_of(y, 0.2)
    model = AFCM(3, random_state=0).fit(torch.as_tensor(X), torch.as_tensor(known))
    assert model.labels_.tolist() == AFCM(3, random_state=0).fit(X, known).labels_.tolist()


def test_weights_of_zero_are_not_there():
    X, _ = make_blobs(60, centers=2, random_state=0)
    known, weights = np.full(60, -1), np.ones(60)
    known[[0, 1]], weights[0] = [0, 1], 0
    model = AFCM(2, random_state=0).fit(X, known, sample_weight=weights)
    assert model.labels_[1] == 1


def test_pipelines_searches_and_other_ways_to_fit_hand_on_what_they_get(rings):
    X, y = rings
    known = np.where(np.arange(900) % 90 == 0, y, -1)
    pipeline = make_pipeline(MinMaxScaler(), AFCM(3, random_state=0)).fit(X, known)
    assert (pipeline[-1].labels_ == y).all()
    model = AFCM(3, random_state=0)
    assert (model.fit_predict(X, known) == y).all()
    assert (model.fit_prepared(model.prepare(X), known).labels_ == y).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        search = GridSearchCV(AFCM(3, random_state=0), {"n_neighbors": [8, 12]}, scoring="adjusted_rand_score", cv=2)
        assert search.fit(X, y).best_estimator_.membership_method_ != "known"


def test_a_tenth_of_the_labels_helps_and_a_refit_forgets():
    X, y = load_iris(return_X_y=True)
    known = known_of(y, 0.1)
    model = AFCM(3, random_state=0).fit(X, known)
    assert np.mean(model.labels_[known < 0] == y[known < 0]) > 0.9
    assert model.outlier_scores_.shape == (150,)
    model.fit(X)
    assert not hasattr(model, "known_source_")
    assert model.membership_method_ != "known"
