"""Each step of the mixture's sweep against a slow formula, for every kind of scatter."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import digamma, gamma

from afcm.equations import generalized_gaussian
from afcm.equations.scatters import STRUCTURES
from afcm.models import mixture
from afcm.models.mixture import MixtureProblem, Parameters

KINDS = sorted(STRUCTURES)
kinds = pytest.mark.parametrize("kind", KINDS)
D = 3  # features; clusters are 2


def some_scatters(kind, rng):
    roots = rng.standard_normal((2, D, D))
    full = roots @ roots.transpose(0, 2, 1) + np.eye(D)
    if kind == "full":
        return full
    if kind == "tied":
        return np.stack([full[0], full[0]])
    if kind == "identity":
        return np.ones(2)
    return rng.uniform(0.5, 2.0, (2, D)) if kind == "diag" else rng.uniform(0.5, 2.0, 2)


def case(kind, *, weighted=True, shared=False, learn=True, reg_covar=1e-6):
    """A problem, parameters that fit nothing in particular, and shares."""
    rng = np.random.default_rng(KINDS.index(kind))
    points = rng.standard_normal((14, D)) * [1.0, 2.0, 0.5]
    masses = rng.uniform(0.5, 2.0, 14) if weighted else None
    problem = MixtureProblem(points, masses, STRUCTURES[kind], reg_covar, learn, shared)
    scale = 0.8 if kind == "identity" else 0.5
    shapes = np.array([0.7, 1.6])
    parameters = Parameters(np.array([0.3, 0.7]), points[[2, 9]] + 0.3, some_scatters(kind, rng), shapes, scale)
    memberships = rng.dirichlet([1.0, 1.0], size=14)
    return problem, parameters, memberships, memberships * (1.0 if masses is None else masses[:, None])


def dense(scatter):
    """A scatter of any kind as a d×d matrix."""
    return scatter * np.eye(D) if np.ndim(scatter) < 2 else scatter


def like_kind(matrix, kind):
    """A d×d matrix as a scatter of this kind."""
    if kind in ("full", "tied"):
        return matrix
    return np.diag(matrix) if kind == "diag" else np.trace(matrix) / D


def distances_slowly(points, parameters):
    return np.array(
        [
            [(x - v) @ np.linalg.inv(dense(scatter)) @ (x - v) for v, scatter in zip(*pair, strict=True)]
            for x in points
            for pair in [(parameters.centers, parameters.scatters)]
        ]
    )


def log_constant(shape, scale):
    half = D / 2
    return math.log(shape * gamma(half) * scale ** (half / shape) / (math.pi**half * gamma(half / shape)))


def log_densities_slowly(points, parameters, distances=None):
    distances = distances_slowly(points, parameters) if distances is None else distances
    columns = []
    for j, shape in enumerate(parameters.shapes):
        determinant = np.linalg.det(dense(parameters.scatters[j]))
        columns.append(
            log_constant(shape, parameters.scale)
            - 0.5 * math.log(determinant)
            - parameters.scale * distances[:, j] ** shape
        )
    return np.stack(columns, axis=1)


def covariance_factor(shape, scale):
    """Cov = factor · Σ."""
    return scale ** (-1 / shape) * gamma((D + 2) / (2 * shape)) / (D * gamma(D / (2 * shape)))


def close(found, expected, rtol=1e-10):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-12)


@kinds
@pytest.mark.parametrize("weighted", [False, True])
def test_a_state_has_the_densities_of_its_parameters(kind, weighted):
    problem, parameters, _, _ = case(kind, weighted=weighted)
    state = problem.at(parameters)
    close(state.distances, distances_slowly(problem.points, parameters))
    joint = parameters.weights * np.exp(log_densities_slowly(problem.points, parameters))
    close(state.memberships, joint / joint.sum(axis=1, keepdims=True))
    masses = np.ones(14) if problem.masses is None else problem.masses
    assert state.objective == pytest.approx(-masses @ np.log(joint.sum(axis=1)), rel=1e-10)
    close(mixture.log_joint(problem.points, parameters, problem.structure), np.log(joint))
    assert problem.objective_scale == pytest.approx(masses.sum(), rel=1e-14)
    assert (state.precision, problem.dimension) == (parameters.scale, D)
    assert state.trace == {"shape": parameters.shapes}
    other = state.distances + 1
    joint = parameters.weights * np.exp(log_densities_slowly(problem.points, parameters, other))
    close(problem.at(parameters, other).memberships, joint / joint.sum(axis=1, keepdims=True))


def test_a_component_without_weight_has_no_samples():
    problem, parameters, _, _ = case("full")
    state = problem.at(replace(parameters, weights=np.array([0.0, 1.0])))
    close(state.memberships, np.tile([0.0, 1.0], (14, 1)))
    assert np.isfinite(state.objective)


@kinds
def test_moments_and_losses_are_their_sums(kind):
    problem, parameters, _, shares = case(kind)
    expected = []
    for j, center in enumerate(parameters.centers):
        moment = sum(w * np.outer(x - center, x - center) for x, w in zip(problem.points, shares[:, j], strict=True))
        expected.append(like_kind(moment, kind))
    close(problem.moments(parameters.centers, shares), np.array(expected))
    losses = -(shares * log_densities_slowly(problem.points, parameters)).sum(axis=0)
    distances = distances_slowly(problem.points, parameters)
    close(problem.losses(parameters, distances, shares, joint=False), losses)
    close(problem.losses(parameters, distances, shares, joint=True), np.full(2, losses.mean()))


@kinds
def test_draws_are_centers_plus_colored_noise_one_component_after_the_other(kind):
    problem, parameters, _, _ = case(kind)
    random = np.random.RandomState(3)
    parts = []
    for j, count in enumerate((4, 2)):
        noise = generalized_gaussian.draw_standard(count, D, parameters.shapes[j], parameters.scale, random)
        parts.append(parameters.centers[j] + noise @ np.linalg.cholesky(dense(parameters.scatters[j])).T)
    drawn = mixture.draw_samples(parameters, problem.structure, [4, 2], np.random.RandomState(3))
    close(drawn, np.concatenate(parts))


@kinds
@pytest.mark.parametrize("n_first", [3, 4])
def test_a_run_starts_with_the_covariances_of_its_clusters_unless_they_are_tiny(kind, n_first):
    """Three samples in three dimensions are too few for a covariance of their own."""
    problem, _, _, _ = case(kind, weighted=False)
    memberships = np.eye(2)[(np.arange(14) >= n_first).astype(int)]
    state = problem.from_memberships(memberships, 1.4)
    parts = [problem.points[:n_first], problem.points[n_first:]]
    means = np.array([part.mean(axis=0) for part in parts])
    close(state.parameters.centers, means)
    close(state.parameters.weights, [n_first / 14, 1 - n_first / 14])
    close(state.parameters.shapes, [1.4, 1.4])
    moments = [(part - mean).T @ (part - mean) for part, mean in zip(parts, means, strict=True)]
    if kind == "identity":
        close(state.parameters.scatters, [1.0, 1.0])
        powers = sum((((part - mean) ** 2).sum(axis=1) ** 1.4).sum() for part, mean in zip(parts, means, strict=True))
        assert state.parameters.scale == pytest.approx(14 * D / 2.8 / powers, rel=1e-12)
    else:
        common = sum(moments) / 14
        own = [moment / len(part) for moment, part in zip(moments, parts, strict=True)]
        expected = [common, common] if kind == "tied" else [common if n_first == 3 else own[0], own[1]]
        covariances = np.array([like_kind(matrix, kind) for matrix in expected])
        close(state.parameters.scatters, covariances / covariance_factor(1.4, 0.5))
        assert state.parameters.scale == 0.5
    close(state.distances, distances_slowly(problem.points, state.parameters))


@kinds
@pytest.mark.parametrize("reg_covar", [1e-6, 1.7])
def test_a_run_starts_with_weighted_shares(kind, reg_covar):
    problem, _, memberships, shares = case(kind, reg_covar=reg_covar)
    parameters = problem.from_memberships(memberships, 0.8).parameters
    totals = shares.sum(axis=0)
    means = (shares.T @ problem.points) / totals[:, None]
    close(parameters.centers, means)
    close(parameters.weights, totals / totals.sum())
    if kind == "identity":
        powers = (shares * distances_slowly(problem.points, parameters) ** 0.8).sum()
        best = totals.sum() * D / 1.6 / powers
        assert parameters.scale == pytest.approx(min(best, problem.largest_scale(np.array([0.8]))), rel=1e-12)
        return
    moments = [
        sum(w * np.outer(x - mean, x - mean) for x, w in zip(problem.points, shares[:, j], strict=True))
        for j, mean in enumerate(means)
    ]
    own = [sum(moments) / totals.sum()] * 2 if kind == "tied" else [m / n for m, n in zip(moments, totals, strict=True)]
    expected = [floor_slowly(like_kind(m, kind), reg_covar, kind) for m in own]
    close(parameters.scatters, np.array(expected) / covariance_factor(0.8, 0.5))


@kinds
def test_an_empty_cluster_starts_finite(kind):
    problem, _, _, _ = case(kind)
    state = problem.from_memberships(np.tile([1.0, 0.0], (14, 1)), 1.0)
    for values in (state.memberships, state.parameters.scatters, state.objective):
        assert np.isfinite(values).all()


def floor_slowly(scatter, least, kind):
    values, vectors = np.linalg.eigh(dense(scatter))
    return like_kind(vectors @ np.diag(np.maximum(values, least)) @ vectors.T, kind)


@kinds
def test_no_covariance_has_a_variance_below_the_floor(kind):
    problem, parameters, _, _ = case(kind, reg_covar=1.7)
    factors = [covariance_factor(shape, parameters.scale) for shape in parameters.shapes]
    least = [1.7 / min(factors)] * 2 if kind == "tied" else [1.7 / factor for factor in factors]
    expected = [floor_slowly(*pair, kind) for pair in zip(parameters.scatters, least, strict=True)]
    floored = problem.floor_scatters(parameters)
    assert not np.allclose(floored, parameters.scatters)
    close(floored, np.array(expected))


def test_one_component_can_be_tied_to_itself():
    problem, parameters, _, _ = case("tied", reg_covar=1.7)
    alone = replace(parameters, centers=parameters.centers[:1], scatters=parameters.scatters[:1], shapes=np.ones(1))
    close(problem.floor_scatters(alone)[0], floor_slowly(alone.scatters[0], 1.7, "tied"))


def test_the_largest_scale_leaves_the_smallest_covariance_at_the_floor():
    shapes = np.array([0.7, 1.6])
    for floor in (1e-3, 2.0):
        largest = case("identity", reg_covar=floor)[0].largest_scale(shapes)
        assert min(covariance_factor(shape, largest) for shape in shapes) == pytest.approx(floor, rel=1e-10)
    assert case("identity", reg_covar=0.0)[0].largest_scale(shapes) == math.inf


def test_first_steps_are_whole_up_to_the_gaussian_and_about_newtons_beyond():
    shapes, totals = np.array([0.5, 1.0, 2.0, 5.0, 2.0]), np.array([3.0, 1.0, 1.0, 1e-11, 1e-12])
    steps = [1.0, 1.0, 5 / 7, 5 / 13, 0.0]
    close(case("diag")[0].first_steps(shapes, totals), [steps, steps])
    tied = [5 / 13] * 4 + [0.0]
    close(case("tied")[0].first_steps(shapes, totals), [tied, tied])


@kinds
@pytest.mark.parametrize("reg_covar", [1e-6, 1.7])
def test_a_step_goes_a_share_of_the_way_to_the_fixed_point(kind, reg_covar):
    problem, parameters, _, shares = case(kind, reg_covar=reg_covar)
    distances = distances_slowly(problem.points, parameters)
    pulled = shares * distances ** (parameters.shapes - 1)
    steps = np.array([[0.3, 0.9], [0.5, 0.2]])
    found = problem.take_step(parameters, pulled, shares.sum(axis=0), steps)
    means = (pulled.T @ problem.points) / pulled.sum(axis=0)[:, None]
    centers = np.array([[0.7], [0.1]]) * parameters.centers + np.array([[0.3], [0.9]]) * means
    close(found.centers, centers)
    assert (found.weights, found.shapes, found.scale) == (parameters.weights, parameters.shapes, parameters.scale)
    if kind == "identity":
        close(found.scatters, np.ones(2))
        return
    coefficients = 2 * 0.5 * parameters.shapes * pulled
    moments = [
        sum(a * np.outer(x - center, x - center) for x, a in zip(problem.points, coefficients[:, j], strict=True))
        for j, center in enumerate(centers)
    ]
    totals, along = shares.sum(axis=0), [0.5, 0.2]
    if kind == "tied":
        moments, totals, along = [sum(moments)] * 2, np.full(2, totals.sum()), [0.5, 0.5]
    factors = [covariance_factor(shape, 0.5) for shape in parameters.shapes]
    factors = [min(factors)] * 2 if kind == "tied" else factors
    for j in range(2):
        target = floor_slowly(like_kind(moments[j] / totals[j], kind), reg_covar / factors[j], kind)
        close(found.scatters[j], (1 - along[j]) * parameters.scatters[j] + along[j] * target)


@kinds
def test_the_first_step_is_taken_where_it_raises_no_loss(kind):
    problem, parameters, _, shares = case(kind)
    parameters = replace(parameters, shapes=np.array([0.6, 0.9]))
    distances = distances_slowly(problem.points, parameters)
    pulled = shares * distances ** (parameters.shapes - 1)
    expected = problem.take_step(parameters, pulled, shares.sum(axis=0), np.ones((2, 2)))
    found, reached = problem.update_centers_and_scatters(parameters, distances, shares)
    close(found.centers, expected.centers)
    close(found.scatters, expected.scatters)
    close(reached, distances_slowly(problem.points, found))


@pytest.mark.parametrize("share", [0.0, 2e-13])
def test_a_component_moves_if_its_shares_add_up_to_something(share):
    """Fourteen times 2e-13 is a mass, though none of them is."""
    problem, parameters, _, shares = case("diag")
    shares[:, 1] = share
    distances = distances_slowly(problem.points, parameters)
    found, _ = problem.update_centers_and_scatters(parameters, distances, shares)
    assert np.array_equal(found.centers[1], parameters.centers[1]) == (share == 0)
    shapes = problem.solve_shapes(parameters, distances, shares)
    assert (shapes[1] == parameters.shapes[1]) == (share == 0)


def test_a_common_size_follows_all_shares_together():
    problem, parameters, _, shares = case("tied")
    shares *= 0.8e-12 / shares.sum(axis=0)
    found, _ = problem.update_scale(parameters, distances_slowly(problem.points, parameters), shares)
    assert not np.allclose(found.scatters, parameters.scatters)


class Script:
    """Replaces `MixtureProblem.losses` by prepared answers, and remembers the steps and whether losses were joint."""

    def __init__(self, monkeypatch, *answers):
        self.answers, self.steps, self.joint = [np.array(answer) for answer in answers], [], []
        original = MixtureProblem.take_step
        monkeypatch.setattr(MixtureProblem, "losses", self.losses)

        def take_step(problem, parameters, pulled, totals, steps):
            self.steps.append(steps.copy())
            return original(problem, parameters, pulled, totals, steps)

        monkeypatch.setattr(MixtureProblem, "take_step", take_step)

    def losses(self, parameters, distances, shares, *, joint):
        self.joint.append(joint)
        return self.answers.pop(0)


def update(kind, script_shapes=(2.0, 3.0)):
    problem, parameters, _, shares = case(kind)
    parameters = replace(parameters, shapes=np.array(script_shapes))
    distances = distances_slowly(problem.points, parameters)
    return problem, *problem.update_centers_and_scatters(parameters, distances, shares)


@pytest.mark.parametrize("kind", ["full", "tied"])
def test_a_step_that_raises_a_loss_is_halved_for_its_component(kind, monkeypatch):
    script = Script(monkeypatch, [1.0, 1.0], [2.0, 0.9], [1.5, 0.9], [1.0, 1.0])
    problem, found, reached = update(kind)
    first = np.array([5 / 7, 5 / 9]) if kind == "full" else np.array([5 / 9, 5 / 9])
    for steps, halved in zip(script.steps, (1, 2, 4), strict=True):
        close(steps, np.tile([first[0] / halved, first[1]], (2, 1)))
    assert script.joint == [kind == "tied"] * 4
    close(reached, distances_slowly(problem.points, found))


def test_a_step_that_always_raises_a_loss_is_not_taken(monkeypatch):
    monkeypatch.setattr(mixture, "MAX_HALVINGS", 2)
    script = Script(monkeypatch, [1.0, 1.0], [2.0, 0.9], [2.0, 0.9])
    problem, found, reached = update("diag")
    close(script.steps[-1], np.tile([0.0, 5 / 9], (2, 1)))
    assert len(script.steps) == 3
    parameters, shares = replace(case("diag")[1], shapes=np.array([2.0, 3.0])), case("diag")[3]
    pulled = shares * distances_slowly(problem.points, parameters) ** (parameters.shapes - 1)
    expected = problem.take_step(parameters, pulled, shares.sum(axis=0), script.steps[2])
    close(found.centers, expected.centers)
    close(found.scatters, expected.scatters)
    close(found.centers[0], parameters.centers[0])
    close(reached, distances_slowly(problem.points, found))


def test_steps_that_were_not_fine_are_halved_and_centers_that_stick_stay():
    steps = np.array([[1.0, 0.6, 1.0, 0.0, 1.0], [1.0, 0.6, 0.8, 0.8, 0.4]])
    fine, shapes = np.array([True, False, False, False, False]), np.array([2.0, 2.0, 0.7, 0.7, 1.0])
    expected = [[1.0, 0.3, 0.0, 0.0, 0.0], [1.0, 0.3, 0.8, 0.4, 0.4]]
    close(mixture.shorten_steps(steps, fine, shapes), expected)


def test_effective_sizes_count_equal_shares():
    shares = np.array([[1.0, 0.5, 3.0, 0.0], [1.0, 0.5, 1.0, 0.0], [0.0, 0.5, 0.0, 0.0]])
    close(mixture.effective_sizes(shares), [2.0, 3.0, 1.6, 0.0])


def test_a_loss_is_not_above_another_up_to_rounding():
    before = np.array([-3.0, -3.0, 0.0, 0.0, 5.0])
    after = before + np.array([3e-13, 5e-13, 0.5e-13, 2e-13, -1.0])
    np.testing.assert_array_equal(mixture.is_not_above(after, before), [True, False, True, False, True])
    assert mixture.is_not_above(mixture.ROUNDING, 0.0)


def best_shape(mass_and_distances, scale):
    """The β with the smallest −Σ w log g; the scale is fixed, or follows β in each group of samples."""

    def loss(log_shape):
        shape, total = math.exp(log_shape), 0.0
        for weights, distances in mass_and_distances:
            mass, powers = weights.sum(), (weights * distances**shape).sum()
            best = mass * D / (2 * shape) / powers if scale is None else scale
            total += best * powers - mass * log_constant(shape, best)
        return total

    return math.exp(minimize_scalar(loss, bounds=(-2.9, 2.9), method="bounded", options={"xatol": 1e-11}).x)


@pytest.mark.parametrize("shared", [False, True])
@kinds
def test_shapes_lower_the_loss_most(kind, shared):
    problem, parameters, _, shares = case(kind, shared=shared)
    distances = distances_slowly(problem.points, parameters)
    pooled = kind in ("tied", "identity")
    columns = [(shares[:, j], distances[:, j]) for j in range(2)]
    if shared:
        groups = [(shares.ravel(), distances.ravel())] if pooled else columns
        expected = [best_shape(groups, None)] * 2
    else:
        expected = [best_shape([column], parameters.scale if pooled else None) for column in columns]
    close(problem.solve_shapes(parameters, distances, shares), expected, rtol=2e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("empty", [0, 1])
def test_the_shape_of_an_empty_component_is_its_own_or_that_of_all(shared, empty):
    problem, parameters, _, shares = case("diag", shared=shared)
    distances = distances_slowly(problem.points, parameters)
    distances[5, 1 - empty] = shares[5, 1 - empty] = 0.0  # a sample on a center that is not its own
    shares[:, empty] = 0.0
    shares[0, empty] = 1e-12  # as good as nothing
    other = best_shape([(shares[:, 1 - empty], distances[:, 1 - empty])], None)
    expected = np.full(2, other)
    if not shared:
        expected[empty] = parameters.shapes[empty]
    close(problem.solve_shapes(parameters, distances, shares), expected, rtol=2e-6)


def phi(shape, weights, distances, scale):
    """The slope of the loss in β, divided by −N: 1 + a (ψ(a) − log m) − (β m / N) T1."""
    a, mass = D / (2 * shape), weights.sum()
    powers = weights * distances**shape
    scale = mass * a / powers.sum() if scale is None else scale
    return 1 + a * (digamma(a) - math.log(scale)) - shape * scale / mass * (powers * np.log(distances)).sum()


@pytest.mark.parametrize("scale", [None, 0.7])
def test_the_shape_equation_of_several_components_is_the_mean_by_mass(scale):
    rng = np.random.default_rng(4)
    groups = [(rng.uniform(0.1, 2.0, 6), rng.uniform(0.1, 3.0, 6)), (rng.uniform(0.1, 2.0, 4), rng.uniform(1, 4, 4))]
    samples = [(np.log(distances), np.log(weights)) for weights, distances in groups]
    masses = np.array([weights.sum() for weights, _ in groups])

    def expected(shape):
        return masses @ [phi(shape, *group, scale) for group in groups] / masses.sum()

    value, slope = mixture.pooled_equation(1.3, samples, D, scale)
    assert value == pytest.approx(expected(1.3), rel=1e-12)
    assert slope == pytest.approx((expected(1.3 + 1e-5) - expected(1.3 - 1e-5)) / 2e-5, rel=1e-7)


@pytest.mark.parametrize("reg_covar", [1e-6, 40.0])
@kinds
def test_the_scale_lowers_the_loss_most_down_to_the_floor(kind, reg_covar):
    problem, parameters, _, shares = case(kind, reg_covar=reg_covar)
    distances = distances_slowly(problem.points, parameters)
    found, reached = problem.update_scale(parameters, distances, shares)
    totals, powers = shares.sum(axis=0), (shares * distances**parameters.shapes).sum(axis=0)
    if kind == "identity":
        best = D / 2 * (totals / parameters.shapes).sum() / powers.sum()
        assert found.scale == pytest.approx(min(best, problem.largest_scale(parameters.shapes)), rel=1e-12)
        assert (found.scale < 0.9 * best) == (reg_covar == 40.0)
        assert reached is distances
        return
    if kind == "tied":
        one = brentq(lambda s: (parameters.shapes * s**-parameters.shapes * powers).sum() - totals.sum() * D, 1e-3, 1e3)
        sizes = np.full(2, one)
    else:
        sizes = (parameters.shapes * powers / (totals * D)) ** (1 / parameters.shapes)
    resized = np.array([size * scatter for size, scatter in zip(sizes, parameters.scatters, strict=True)])
    expected = problem.floor_scatters(replace(parameters, scatters=resized))
    assert np.allclose(expected, resized) == (reg_covar < 1)
    close(found.scatters, expected, rtol=1e-9)
    close(reached, distances_slowly(problem.points, found), rtol=1e-9)
    assert found.scale == 0.5


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_an_empty_component_keeps_its_size(kind):
    problem, parameters, _, shares = case(kind)
    distances = distances_slowly(problem.points, parameters)
    shares[:, 1] = 0.0
    shares[0, 1] = 1e-12
    found, reached = problem.update_scale(parameters, distances, shares)
    np.testing.assert_array_equal(found.scatters[1], parameters.scatters[1])
    np.testing.assert_array_equal(reached[:, 1], distances[:, 1])
    assert not np.allclose(found.scatters[0], parameters.scatters[0])


def reshaped_by_script(monkeypatch, before, after, **how):
    problem, parameters, _, shares = case("diag", **how)
    distances = distances_slowly(problem.points, parameters)
    script = Script(monkeypatch, before, after)
    found = problem.update_shapes_and_scale(parameters, distances, shares)
    shapes = problem.solve_shapes(parameters, distances, shares) if problem.learn_shape else parameters.shapes
    best = problem.update_scale(replace(parameters, shapes=shapes), distances, shares)
    return found, (parameters, distances), best, script.joint


@pytest.mark.parametrize("learn", [False, True])
def test_shapes_and_scale_change_together_where_no_loss_rises(learn, monkeypatch):
    (found, reached), before, best, joint = reshaped_by_script(monkeypatch, [1.0, 1.0], [0.5, 1.0], learn=learn)
    close(found.shapes, best[0].shapes)
    assert np.allclose(found.shapes, before[0].shapes) == (not learn)
    close(found.scatters, best[0].scatters)
    close(reached, best[1])
    assert joint == [False, False]


def test_a_component_whose_loss_would_rise_keeps_shape_and_scatter(monkeypatch):
    (found, reached), before, best, _ = reshaped_by_script(monkeypatch, [1.0, 1.0], [0.5, 2.0])
    np.testing.assert_array_equal(found.shapes, [best[0].shapes[0], before[0].shapes[1]])
    np.testing.assert_array_equal(found.scatters, [best[0].scatters[0], before[0].scatters[1]])
    np.testing.assert_array_equal(reached, np.stack([best[1][:, 0], before[1][:, 1]], axis=1))


def test_components_with_one_shape_change_all_or_none(monkeypatch):
    (found, reached), before, _, joint = reshaped_by_script(monkeypatch, [1.0, 1.0], [0.5, 2.0], shared=True)
    assert found is before[0]
    assert reached is before[1]
    assert joint == [True, True]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("learn", [False, True])
@kinds
def test_a_sweep_is_its_steps(kind, learn, shared, monkeypatch):
    problem, parameters, _, _ = case(kind, learn=learn, shared=shared)
    state = problem.at(parameters)
    rounds = mixture.SHAPE_ROUNDS if kind in ("tied", "identity") and learn and not shared else 1
    assert problem.shape_rounds == rounds
    shares = problem.masses[:, None] * state.memberships
    expected = replace(parameters, weights=shares.sum(axis=0) / shares.sum())
    expected, distances = problem.update_centers_and_scatters(expected, state.distances, shares)
    for _ in range(rounds):
        expected, distances = problem.update_shapes_and_scale(expected, distances, shares)
    after = problem.sweep(state)
    for name in ("weights", "centers", "scatters", "shapes", "scale"):
        close(getattr(after.parameters, name), getattr(expected, name))
    close(after.distances, distances_slowly(problem.points, after.parameters), rtol=1e-8)
    if kind in ("tied", "identity"):  # their components share a size: losses are joint
        script = Script(monkeypatch, [1.0, 1.0], [1.0, 1.0])
        problem.update_shapes_and_scale(expected, distances, shares)
        assert script.joint == [True, True]
