"""The sweeps: J falls, every block is at its best, and no symmetry is broken."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.equations import generalized_gaussian, paper
from afcm.equations.scatters import reshape_like
from afcm.fitting.loop import run, share_still
from afcm.models import mixture
from afcm.models.plain import PlainProblem
from tests.mixtures import KINDS, clusters, problem, problems, quick, seeds

pytestmark = pytest.mark.usefixtures("one_thread")


@quick
@given(problems(), st.integers(2, 8))
def test_objective_never_rises(case, n_sweeps):
    made, state, _ = case
    for _ in range(n_sweeps):
        following = made.sweep(state)
        assert following.objective <= state.objective + 1e-9 * (1 + abs(state.objective))
        state = following


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_objective_never_rises_on_flat_clusters(kind, shared):
    """β runs to 20, far beyond where the undamped fixed point descends."""
    rng = np.random.RandomState(0)
    points = np.vstack([rng.uniform(-1, 1, (40, 2)), rng.uniform(2, 3, (40, 2))])
    made = problem(points, kind, shared=shared)
    state = made.from_memberships(rng.dirichlet([1.0, 1.0], size=80), 1.0)
    objectives = [(state := made.sweep(state)).objective for _ in range(25)]
    assert (np.diff(objectives) <= 1e-9 * np.abs(objectives[1:])).all()


@quick
@given(problems())
def test_objective_is_pro1_e1_and_the_negative_log_likelihood(case):
    made, state, rng = case
    joint = mixture.log_densities(state.distances, state.parameters, made.structure) + np.log(state.parameters.weights)
    assert state.objective == pytest.approx(
        generalized_gaussian.objective(joint, state.memberships, made.masses), rel=1e-11, abs=1e-9
    )
    nudged = 0.9 * state.memberships + 0.1 * rng.dirichlet(np.ones(joint.shape[1]), size=len(joint))
    assert state.objective <= generalized_gaussian.objective(joint, nudged, made.masses) + 1e-9


def settled(made, start, tol=1e-7):
    return run(made, start, max_iter=3000, tol=tol, stop=share_still).state


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_no_nudge_of_a_block_beats_the_fitted_one(kind, shared):
    rng = np.random.RandomState(3)
    points, labels = clusters(rng, 60, 2, shape=0.8, n_clusters=2)
    made = problem(points, kind, shared=shared)
    state = settled(made, made.from_memberships(np.eye(2)[labels], 1.0))
    fitted = state.parameters
    stretch = np.exp(0.02 * rng.standard_normal(1 if made.structure.tied else 2))
    nudges = [
        replace(fitted, weights=generalized_gaussian.mixing_weights(fitted.weights * np.array([1.02, 0.98]))),
        replace(fitted, centers=fitted.centers + 0.02 * rng.standard_normal(fitted.centers.shape)),
        replace(fitted, shapes=fitted.shapes * 1.02),
        replace(fitted, shapes=fitted.shapes / 1.02),
        replace(fitted, scale=fitted.scale * 1.02),
        replace(fitted, scale=fitted.scale / 1.02),
    ]
    if kind != "identity":  # where Σ = I is no variable
        nudges.append(replace(fitted, scatters=fitted.scatters * reshape_like(stretch, fitted.scatters)))
    for nudged in nudges:
        assert state.objective < made.at(nudged).objective


@quick
@given(seeds, st.floats(0.6, 4.0), st.sampled_from(["full", "diag", "spherical"]))
def test_no_nudge_beats_centre_and_scatter_at_their_fixed_point(seed, shape, kind):
    rng = np.random.RandomState(seed)
    points = generalized_gaussian.draw_standard(60, 2, shape, 0.5, rng)
    made = problem(points, kind, shape=shape)
    state = settled(made, made.from_memberships(np.ones((60, 1)), shape), tol=1e-11)
    fitted = state.parameters
    for size in (0.01, 0.1):
        moved = replace(fitted, centers=fitted.centers + size * rng.standard_normal(2))
        tilt = np.exp(size * rng.standard_normal(np.shape(fitted.scatters[0])[:1]))
        root = np.sqrt(tilt)
        turned = root[:, None] * fitted.scatters * root if kind == "full" else fitted.scatters * tilt
        assert state.objective <= made.at(moved).objective + 1e-7
        assert state.objective <= made.at(replace(fitted, scatters=turned)).objective + 1e-7


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_a_component_whose_shape_step_would_raise_its_loss_stays_while_the_others_go(kind):
    """The floor of the covariances binds for some: their best shape asks for less than it allows."""
    rng = np.random.RandomState(1)
    points, _ = clusters(rng, 20, 2, shape=0.5, spread=2.0)
    made, n_mixed = problem(points, kind, shared=False, reg_covar=3.0), 0
    state = made.from_memberships(rng.dirichlet(np.full(3, 0.3), size=60), 1.0)
    for _ in range(10):
        before, shares = state.parameters, state.memberships
        whole = replace(before, shapes=made.solve_shapes(before, state.distances, shares))
        after, distances = made.update_shapes_and_scale(before, state.distances, shares)
        old, full = (
            made.losses(*step, shares, joint=False)
            for step in ((before, state.distances), made.update_scale(whole, state.distances, shares))
        )
        refused = full > old + 1e-9
        np.testing.assert_array_equal(after.shapes, np.where(refused, before.shapes, whole.shapes))
        np.testing.assert_array_equal(after.scatters[refused], before.scatters[refused])
        np.testing.assert_allclose(made.losses(after, distances, shares, joint=False), np.minimum(old, full), atol=1e-9)
        np.testing.assert_allclose(distances, made.distances(after), rtol=1e-9)
        n_mixed += refused.any() and not refused.all()
        state = made.sweep(state)
    assert n_mixed


def test_a_component_without_mass_keeps_its_parameters():
    points, labels = clusters(np.random.RandomState(0), 30)
    for shared in (True, False):
        made = problem(points, "full", shared=shared)
        start = made.from_memberships(np.eye(3)[labels], 1.0)
        memberships = np.eye(3)[np.minimum(labels, 1)]
        after = made.sweep(replace(start, memberships=memberships)).parameters
        np.testing.assert_array_equal(after.centers[2], start.parameters.centers[2])
        np.testing.assert_allclose(after.scatters[2], start.parameters.scatters[2], rtol=1e-12)
        assert after.weights[2] == 0
        assert np.isfinite(made.at(after).memberships).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster_of_one_sample_starts_from_the_common_scatter_and_stays_finite(kind):
    points, labels = clusters(np.random.RandomState(1), 20)
    points, labels = np.vstack([points, [[50.0, 50.0]]]), np.append(labels, 3)
    made = problem(points, kind)
    start = made.from_memberships(np.eye(4)[labels], 1.0)
    assert np.ptp(np.log(np.abs(start.distances[:-1].min(axis=1)) + 1e-9)) < 40
    state = settled(made, start)
    assert np.isfinite(state.objective)
    np.testing.assert_allclose(state.memberships.sum(axis=1), 1)


@quick
@given(seeds, st.sampled_from(KINDS), st.booleans())
def test_labels_order_and_place_do_not_matter(seed, kind, shared):
    rng = np.random.RandomState(seed)
    points, labels = clusters(rng, 20)
    rows, columns, shift = rng.permutation(60), rng.permutation(3), rng.standard_normal(2)
    memberships = 0.9 * np.eye(3)[labels] + 0.1 / 3
    one, other = problem(points, kind, shared=shared), problem(points[rows] + shift, kind, shared=shared)
    state = one.sweep(one.from_memberships(memberships, 1.0))
    same = other.sweep(other.from_memberships(memberships[rows][:, columns], 1.0))
    np.testing.assert_allclose(same.memberships, state.memberships[rows][:, columns], atol=1e-6)
    np.testing.assert_allclose(same.parameters.shapes, state.parameters.shapes[columns], rtol=1e-6)
    assert same.objective == pytest.approx(state.objective, rel=1e-9)


@quick
@given(seeds)
def test_full_scatters_turn_with_the_data(seed):
    rng = np.random.RandomState(seed)
    points, labels = clusters(rng, 20)
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    one, other = problem(points, "full"), problem(points @ turn, "full")
    state = one.sweep(one.from_memberships(np.eye(3)[labels], 1.0))
    turned = other.sweep(other.from_memberships(np.eye(3)[labels], 1.0))
    np.testing.assert_allclose(turned.parameters.scatters, turn.T @ state.parameters.scatters @ turn, atol=1e-6)
    assert turned.objective == pytest.approx(state.objective, rel=1e-8)


@quick
@given(seeds, st.floats(0.05, 5.0))
def test_simplified_mixture_is_algorithm_2_up_to_a_constant(seed, precision):
    """Equal weights, Σ = I, β = 1, m = γ: J = afcm + n log c + (n d / 2) log π."""
    rng = np.random.RandomState(seed)
    points, _ = clusters(rng, 15, 2)
    points -= points.mean(axis=0)
    centers, n_samples = points[rng.choice(45, 3, replace=False)], len(points)
    plain = PlainProblem(points).at(centers, precision)
    made = problem(points, "identity", shape=1.0)
    start = made.from_memberships(np.full((n_samples, 3), 1 / 3), 1.0).parameters
    other = made.at(replace(start, centers=centers, weights=np.full(3, 1 / 3), scale=precision))
    constant = n_samples * (np.log(3) + np.log(np.pi))
    assert other.objective == pytest.approx(plain.objective + constant, rel=1e-10)
    np.testing.assert_allclose(other.memberships, plain.memberships, atol=1e-10)


def test_learned_scale_of_the_identity_is_the_precision_of_its_scatter():
    points, labels = clusters(np.random.RandomState(5), 40)
    made = problem(points, "identity", shape=1.0)
    start = made.from_memberships(np.eye(3)[labels], 1.0)
    after = made.sweep(start).parameters
    costs = paper.squared_distances(made.points, after.centers)
    expected = paper.precision(paper.scatter(costs, start.memberships), 120.0, 2, 1e9)
    assert after.scale == pytest.approx(expected, rel=1e-12)
