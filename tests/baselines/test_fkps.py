"""FKPS: the paper's row, a falling objective, and its limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from afcm.baselines import FKPS
from afcm.baselines.fkps import QuadraticProblem
from afcm.exceptions import MergedClustersWarning
from afcm.fitting.loop import run
from afcm.metrics import clustering_accuracy
from tests.baselines.data import blobs, iris, never_rises, percents
from tests.strategies import quick


@pytest.mark.parametrize("seed", range(3))
def test_the_papers_row(seed):
    assert percents(FKPS(3, fuzziness=0.5, fidelity=100.0, random_state=seed).fit(iris()[0]).labels_) == (
        92.00,
        79.82,
        78.74,
    )


@quick
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 1.0, 100.0]), st.sampled_from([0.03, 1.0, 30.0]))
@pytest.mark.parametrize("projection", [None, 2])
@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")
def test_the_objective_never_rises(projection, seed, fuzziness, fidelity):
    points = np.random.default_rng(seed).standard_normal((30, 3))
    model = FKPS(3, fuzziness=fuzziness, fidelity=fidelity, projection=projection, random_state=0).fit(points)
    assert never_rises(model.history_["objective"], slack=1e-11)


def test_without_shrinking_it_is_fuzzy_k_means_with_quadratic_regularisation():
    X, _ = iris()
    model = FKPS(3, fuzziness=0.1, fidelity=1e10, init="k-means", tol=1e-9, random_state=0).fit(X)
    np.testing.assert_allclose(model.patterns_, X, atol=1e-8)
    problem = QuadraticProblem(X, 0.1)
    plain = run(problem, problem.from_memberships(model.memberships_), max_iter=100, tol=1e-9).state
    np.testing.assert_allclose(model.memberships_, plain.memberships, atol=1e-5)


def test_patterns_shrink_towards_the_centres_as_fidelity_falls():
    X, _ = blobs()
    spreads = []
    for fidelity in (1e6, 3.0, 0.3):
        model = FKPS(3, fidelity=fidelity, init="k-means", random_state=0).fit(X)
        spreads.append(np.min(((model.patterns_[:, None] - model.cluster_centers_) ** 2).sum(axis=2), axis=1).sum())
    assert spreads[0] > spreads[1] > spreads[2]


def test_much_fuzziness_merges_the_clusters_and_says_so():
    with pytest.warns(MergedClustersWarning, match="smaller fuzziness than 100000"):
        model = FKPS(3, fuzziness=1e5, random_state=0).fit(blobs()[0])
    np.testing.assert_allclose(model.memberships_, 1 / 3, atol=1e-3)


def test_a_shift_of_the_data_shifts_patterns_and_centres():
    X, _ = blobs()
    fits = [FKPS(3, init="k-means", random_state=0).fit(X + shift) for shift in (0.0, 5.0)]
    np.testing.assert_allclose(fits[1].patterns_ - 5, fits[0].patterns_, atol=1e-6)
    np.testing.assert_allclose(fits[1].memberships_, fits[0].memberships_, atol=1e-6)


@pytest.mark.parametrize("projection", [None, 2])
def test_fitted_samples_are_predicted_as_fitted(projection):
    X, y = blobs()
    fuzziness = 0.1 if projection is None else 1e-3  # the projected samples have total spread 1
    model = FKPS(3, projection=projection, fuzziness=fuzziness, init="k-means", tol=1e-10, random_state=0).fit(X)
    assert clustering_accuracy(y, model.labels_) > 0.95
    np.testing.assert_allclose(model.predict_proba(X), model.memberships_, atol=1e-4)
    assert model.transform(X).shape == (120, 3)


def test_projected_directions_are_orthonormal_in_the_spread_of_the_data():
    X, _ = blobs(n_features=5)
    constant = np.hstack([X, X[:, :1], np.ones((len(X), 1))])  # two columns that add no direction
    model = FKPS(3, projection=2, fuzziness=1e-3, random_state=0).fit(constant)
    centred = constant - constant.mean(axis=0)
    np.testing.assert_allclose(model.directions_.T @ centred.T @ centred @ model.directions_, np.eye(2), atol=1e-10)
    with pytest.raises(ValueError, match="projection=6 must be at most 5"):
        FKPS(3, projection=6).fit(constant)


@pytest.mark.parametrize("projection", [None, 2])
def test_given_centres_start_from_the_memberships_that_are_best_for_them(projection):
    X, y = blobs()
    means = 40 + np.array([X[y == k].mean(axis=0) for k in (2, 0, 1)])  # far from the origin: centred like X
    nearest = np.argmin(cdist(40 + X, means), axis=1)
    setting = {"projection": projection, "fuzziness": 1e-3}  # so little that the nearest centre has it all
    ours, theirs = (FKPS(3, init=init, **setting).fit(40 + X) for init in (means, np.eye(3)[nearest]))
    np.testing.assert_allclose(ours.history_["objective"], theirs.history_["objective"], rtol=1e-9)
    np.testing.assert_allclose(ours.memberships_, theirs.memberships_, atol=1e-9)
    np.testing.assert_array_equal(ours.labels_, nearest)


@pytest.mark.parametrize("name", ["fuzziness", "fidelity", "projection"])
def test_bad_parameters_are_refused(name):
    with pytest.raises(ValueError, match=f"{name}=-1 must be"):
        FKPS(3, **{name: -1}).fit(blobs()[0])
