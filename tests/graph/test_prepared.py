"""A prepared graph gives the fit that `fit` gives, and solves for its eigenvectors once."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from afcm import AFCM
from afcm.baselines import SpectralBaseline
from afcm.datasets import make_rings
from afcm.graph import prepared as prepared_module


@pytest.fixture(scope="module")
def rings():
    return make_rings(random_state=0)[0]


@pytest.mark.parametrize("init", ["spectral", "random", "k-means++"])
def test_a_prepared_fit_is_the_fit(rings, init):
    model = AFCM(3, init=init, random_state=0)
    whole = AFCM(3, init=init, random_state=0).fit(rings)
    halves = AFCM(3, init=init, random_state=0).fit_prepared(model.prepare(rings))
    np.testing.assert_array_equal(halves.memberships_, whole.memberships_)
    np.testing.assert_array_equal(halves.predict(rings[:9]), whole.predict(rings[:9]))
    assert halves.n_features_in_ == 2


def test_one_solve_serves_many_fits(rings, monkeypatch):
    solved = []
    solve = prepared_module.solve_leading
    monkeypatch.setattr(prepared_module, "solve_leading", lambda *a, **k: solved.append(a[1]) or solve(*a, **k))
    prepared = AFCM(3, kernel="adaptive").prepare(rings + 0.05 * np.random.default_rng(0).standard_normal(rings.shape))
    for n_clusters in (12, 12, 14):
        for seed in range(2):
            AFCM(n_clusters, random_state=seed, graph_weight=1e6).fit_prepared(prepared)
    assert solved == [12, 14]


def test_feature_names_reach_the_fitted_model(rings):
    frame = pd.DataFrame(rings, columns=["east", "north"])
    model = AFCM(3, random_state=0).fit_prepared(AFCM(3).prepare(frame))
    np.testing.assert_array_equal(model.feature_names_in_, ["east", "north"])


def test_more_clusters_than_nodes_are_refused(rings):
    prepared = AFCM(2).prepare(rings[:12])
    with pytest.raises(ValueError, match="n_clusters=13"):
        AFCM(13).fit_prepared(prepared)


def test_spectral_baseline_on_a_prepared_graph(rings):
    own = SpectralBaseline(3, n_neighbors=10, random_state=0).fit(rings)
    shared = SpectralBaseline(3, random_state=0).fit_prepared(AFCM.paper(3, n_neighbors=10).prepare(rings))
    np.testing.assert_array_equal(shared.labels_, own.labels_)
    np.testing.assert_array_equal(shared.embedding_, own.embedding_)


def test_spectral_baseline_counts_merged_samples_with_their_mass(rings):
    twice = np.vstack([rings, rings[:200]])
    model = SpectralBaseline(3, random_state=0).fit_prepared(AFCM(3, n_neighbors=10).prepare(twice))
    assert model.labels_.shape == (len(twice),)
    np.testing.assert_array_equal(model.labels_[:200], model.labels_[len(rings) :])


def test_counting_needs_a_graph_that_was_prepared_for_it(rings):
    assert AFCM("auto", random_state=0).fit_prepared(AFCM("auto").prepare(rings)).n_clusters_ == 3
    with pytest.raises(ValueError, match="prepare it with 'auto'"):
        AFCM("auto").fit_prepared(AFCM(3).prepare(rings))


def test_spectral_baseline_refuses_samples_that_are_not_in_the_graph(rings):
    prepared = AFCM(3, n_neighbors=10).prepare(rings, sample_weight=np.r_[0.0, np.ones(len(rings) - 1)])
    with pytest.raises(ValueError, match="weight 0"):
        SpectralBaseline(3).fit_prepared(prepared)


def test_repeated_samples_and_their_weight_give_the_same_sharpened_graph():
    X, _ = make_blobs(120, centers=3, cluster_std=2.5, random_state=0)
    doubled = AFCM(3).prepare(np.vstack([X, X[:40]]))
    weighted = AFCM(3).prepare(X, sample_weight=np.where(np.arange(120) < 40, 2.0, 1.0))
    np.testing.assert_array_equal(doubled.graph.affinity.toarray(), weighted.graph.affinity.toarray())
    assert doubled.base is not doubled.graph
