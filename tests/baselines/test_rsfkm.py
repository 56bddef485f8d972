"""RSFKM: the paper's row, a falling objective, robustness, and the two ends of the fuzziness."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from afcm.baselines import RSFKM
from afcm.baselines.rsfkm import RobustProblem
from afcm.equations import paper
from afcm.exceptions import MergedClustersWarning
from afcm.metrics import clustering_accuracy
from tests.baselines.data import blobs, iris, never_rises, nudged_rows, percents
from tests.strategies import problems, quick


def test_the_papers_row():
    """Printed: ACC 88.67, which no labelling with this ARI has; NMI and ARI as printed."""
    assert percents(RSFKM(3, fuzziness=0.2, random_state=0).fit(iris()[0]).labels_) == (90.67, 75.48, 75.60)


def test_the_published_scheme_with_half_the_fuzziness_ends_in_the_same_place():
    X, _ = iris()
    ours = RSFKM(3, fuzziness=0.2, tol=1e-12, max_iter=2000, random_state=0).fit(X)
    published = RSFKM(3, fuzziness=0.1, literal=True, tol=1e-12, max_iter=2000, random_state=0).fit(X)
    np.testing.assert_allclose(published.memberships_, ours.memberships_, atol=1e-5)


@quick
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 0.3, 3.0]), st.sampled_from([0.5, 2.0, np.inf]))
@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")
def test_the_objective_never_rises(seed, fuzziness, tau):
    points = np.random.default_rng(seed).standard_normal((40, 2))
    model = RSFKM(4, fuzziness=fuzziness, tau=tau, init="k-means++", random_state=0).fit(points)
    assert never_rises(model.history_["objective"])


@quick
@given(problems(weights=False), st.sampled_from([0.05, 1.0]), st.sampled_from([0.5, 2.0, np.inf]))
def test_no_feasible_nudge_of_the_memberships_beats_a_sweep(problem, fuzziness, cap):
    points, memberships, _, rng = problem
    model = RobustProblem(points, fuzziness, cap)
    state = model.sweep(model.from_centers(paper.centers(points, memberships)))
    capped = np.minimum(cdist(points, state.centers), cap)
    for size in (1e-4, 1e-2, 1.0):
        others = nudged_rows(state.memberships, rng, size)
        nudged = float((others * capped).sum() + fuzziness * (others**2).sum())
        assert nudged >= state.objective - 1e-12 * abs(state.objective)


@pytest.mark.filterwarnings("ignore::afcm.exceptions.NotConvergedWarning")
def test_the_published_scheme_with_a_cap_sends_outliers_to_far_clusters():
    """Why it is not the default: beyond the cap a cluster costs nothing, so the outlier prefers it."""
    X = np.array([[0.0], [0.1], [10.0], [10.1], [13.0]])
    setting = {"fuzziness": 0.01, "tau": 5.0, "init": [[0.0], [10.0]], "max_iter": 20}
    assert RSFKM(2, **setting).fit(X).labels_[-1] == 1
    assert RSFKM(2, literal=True, **setting).fit(X).labels_[-1] == 0


def test_an_outlier_beyond_the_cap_does_not_move_a_centre():
    X, _ = blobs()
    far = np.vstack([X, np.full((1, 3), 1e4)])
    setting = {"tau": 10.0, "tol": 1e-12, "max_iter": 2000}
    clean = RSFKM(3, random_state=0, **setting).fit(X)
    robust = RSFKM(3, init=clean.cluster_centers_, **setting).fit(far)
    np.testing.assert_allclose(robust.cluster_centers_, clean.cluster_centers_, atol=1e-4)


def test_the_two_ends_of_the_fuzziness():
    X, _ = blobs()
    hard = RSFKM(3, fuzziness=1e-9, random_state=0).fit(X)
    assert hard.membership_state_ == "hard"
    np.testing.assert_array_equal(hard.labels_, np.argmin(hard.transform(X), axis=1))
    with pytest.warns(MergedClustersWarning, match="smaller fuzziness than 1000000"):
        soft = RSFKM(3, fuzziness=1e6, random_state=0).fit(X)
    np.testing.assert_allclose(soft.memberships_, 1 / 3, atol=1e-3)


def test_fitted_samples_are_predicted_as_fitted():
    X, y = blobs()
    model = RSFKM(3, random_state=0).fit(X)
    np.testing.assert_allclose(model.predict_proba(X), model.memberships_, atol=1e-14)
    assert clustering_accuracy(y, model.predict(X)) > 0.95


def test_given_centres_and_given_memberships_start_it():
    X, y = blobs()
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    fits = [RSFKM(3, init=init).fit(X).memberships_ for init in (means, np.eye(3)[y])]
    np.testing.assert_allclose(fits[0], fits[1], atol=1e-10)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"fuzziness": 0}, "fuzziness=0 must be positive"),
        ({"tau": -1.0}, "tau=-1.0 must be positive"),
        ({"init": "random"}, "init='random' is not known"),
        ({"n_clusters": 121}, "n_clusters=121 must be at most n_samples=120"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        RSFKM(**({"n_clusters": 3} | parameters)).fit(blobs()[0])
