"""CDKM: the paper's row, single-move optimality, never worse than where Lloyd stops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans, kmeans_plusplus

from afcm.baselines import CDKM
from afcm.baselines.cdkm import HardProblem, random_labels
from tests.baselines.data import blobs, iris, never_rises, percents
from tests.baselines.test_equations import k_means_cost
from tests.strategies import quick

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("seed", range(20))
def test_the_papers_row_from_every_start(seed):
    model = CDKM(3, random_state=seed).fit(iris()[0])
    assert percents(model.labels_) == (88.67, 73.64, 71.63)
    assert model.objective_ == pytest.approx(6.9822, abs=5e-5)


@quick
@given(seeds, st.integers(1, 4))
def test_no_single_move_lowers_the_objective(seed, c):
    points = np.random.default_rng(seed).standard_normal((14, 2))
    model = CDKM(c, random_state=seed % 1000).fit(points)
    lowest = k_means_cost(points, model.labels_, c)
    assert model.objective_ == pytest.approx(lowest)
    for i in range(14):
        for k in range(c):
            moved = model.labels_.copy()
            moved[i] = k
            if len(np.unique(moved)) == c:
                assert k_means_cost(points, moved, c) >= lowest * (1 - 1e-9)


@quick
@given(seeds)
def test_the_objective_never_rises(seed):
    points = np.random.default_rng(seed).standard_normal((60, 3))
    assert never_rises(CDKM(5, random_state=0).fit(points).history_["objective"])


@pytest.mark.parametrize("seed", range(5))
def test_it_goes_on_where_lloyd_stops_and_never_up(seed):
    X, _ = blobs(300, 4, 6, 4.0, seed)
    lloyd = KMeans(6, n_init=1, tol=0, random_state=seed).fit(X)
    model = CDKM(6, init=lloyd.labels_).fit(X)
    assert model.objective_ <= lloyd.inertia_ * (1 + 1e-12)


def test_from_the_same_starts_it_ends_lower_than_lloyd_on_average():
    X, _ = blobs(300, 4, 6, 4.0)
    pairs = []
    for seed in range(10):
        labels = random_labels(300, 6, np.random.RandomState(seed))
        problem = HardProblem(X, 6)
        lloyd = KMeans(6, init=problem.at(labels).centers, n_init=1, tol=0, max_iter=1000).fit(X)
        pairs.append((CDKM(6, init=labels).fit(X).objective_, lloyd.inertia_))
    ours, theirs = np.mean(pairs, axis=0)
    assert ours < theirs


def test_attributes_follow_from_the_labels():
    X, _ = blobs()
    model = CDKM(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.memberships_, np.eye(3)[model.labels_])
    for k in range(3):
        np.testing.assert_allclose(model.cluster_centers_[k], X[model.labels_ == k].mean(axis=0))
    assert model.converged_
    assert model.membership_state_ == "hard"
    assert not hasattr(model, "gamma_")


def test_new_samples_go_to_the_nearest_centre():
    X, _ = blobs()
    model = CDKM(3, random_state=0).fit(X)
    nearest = np.argmin(model.transform(X), axis=1)
    np.testing.assert_array_equal(model.predict(X), nearest)
    np.testing.assert_array_equal(model.predict_proba(X), np.eye(3)[nearest])
    np.testing.assert_array_equal(model.predict(model.cluster_centers_), [0, 1, 2])


def test_starts_as_labels_memberships_or_centres_are_one():
    X, y = blobs()
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    labels = np.argmin(((X[:, None] - means) ** 2).sum(axis=2), axis=1)
    fits = [CDKM(3, init=init).fit(X).labels_ for init in (labels, np.eye(3)[labels], means)]
    np.testing.assert_array_equal(fits[0], fits[1])
    np.testing.assert_array_equal(fits[0], fits[2])


@pytest.mark.parametrize("seed", range(3))
def test_seeded_starts_are_those_of_k_means_plus_plus(seed):
    X, _ = blobs(200, 2, 8, 3.0)
    ours = CDKM(8, init="k-means++", random_state=seed).fit(X)
    given = CDKM(8, init=kmeans_plusplus(X, 8, random_state=seed)[0]).fit(X)
    np.testing.assert_array_equal(ours.labels_, given.labels_)
    assert ours.n_iter_ == given.n_iter_


def test_more_runs_are_no_worse():
    X, _ = blobs(200, 2, 8, 3.0)
    assert CDKM(8, n_init=8, random_state=0).fit(X).objective_ <= CDKM(8, random_state=0).fit(X).objective_


def test_random_labels_leave_no_cluster_empty():
    for seed in range(50):
        assert np.bincount(random_labels(6, 5, np.random.RandomState(seed)), minlength=5).all()


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (np.zeros(120, dtype=int), "init leaves cluster 1 of 3 empty"),
        (np.arange(120), "integer labels from 0 to 2"),
        (np.zeros(7, dtype=int), r"init has shape \(7,\); give 120 labels"),
        ("spectral", "init='spectral' is not known"),
    ],
)
def test_bad_starts_are_refused(init, message):
    with pytest.raises(ValueError, match=message):
        CDKM(3, init=init).fit(blobs()[0])
