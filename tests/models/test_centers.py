"""Models whose clusters are their centers: every sum against a slow formula, and an array of memberships at a time."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from afcm.arrays import numpy_arrays
from afcm.equations import paper
from afcm.models import centers as center_models
from afcm.models import passes
from afcm.models.fuzzy import EntropyProblem, FuzzyProblem
from afcm.models.plain import PlainProblem

MODELS = {
    "plain": PlainProblem,
    "entropy": partial(EntropyProblem, gamma=0.7),
    "fuzzy": partial(FuzzyProblem, exponent=2.0),
    "fuzzier": partial(FuzzyProblem, exponent=3.0),
}
kinds = pytest.mark.parametrize("kind", MODELS)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of 7 rows: 20 samples are three blocks, the last one short."""
    monkeypatch.setattr(numpy_arrays, "BLOCK_ROWS", 7)


def data(weighted=True):
    rng = np.random.default_rng(5)
    points = rng.standard_normal((20, 2)) + np.array([3.0, -1.0])
    masses = rng.uniform(0.5, 2.0, 20) if weighted else None
    if weighted:
        masses[[0, 13]] = 0.0  # as if absent
        points[[0, 13]] = [[900.0, 0.0], [0.0, 700.0]]
    return points, masses, points[[3, 8, 15]] + 0.1


def memberships_of(problem, centers, precision):
    """U from its definition."""
    costs = cdist(problem.points, centers, "sqeuclidean")
    if isinstance(problem, FuzzyProblem):
        inverse = costs ** (1 / (1 - problem.exponent))
    else:
        inverse = np.exp(-precision * (costs - costs.min(axis=1, keepdims=True)))
    return inverse / inverse.sum(axis=1, keepdims=True)


def sums_of(problem, memberships, centers, precision):
    """Totals, moments, scatter and J's sum, sample by sample."""
    exponent = getattr(problem, "exponent", 1.0)
    masses = np.ones(len(problem.points)) if problem.masses is None else problem.masses
    totals, moments, scatter, energy = np.zeros(len(centers)), np.zeros_like(centers), 0.0, 0.0
    for x, u, mass in zip(problem.points, memberships, masses, strict=True):
        for j, center in enumerate(centers):
            share, squared = mass * u[j] ** exponent, float((x - center) @ (x - center))
            totals[j] += share
            moments[j] += share * (x - center)
            scatter += share * squared
            if precision is not None and u[j] > 0:
                energy += mass * u[j] * (precision * squared + math.log(u[j]))
    return totals, moments, scatter, energy


def check_statistics(found, expected, *, energy=True):
    for name, value in zip(found._fields[: 4 if energy else 3], expected, strict=False):
        np.testing.assert_allclose(getattr(found, name), value, rtol=1e-9, atol=1e-10, err_msg=name)


@kinds
@pytest.mark.parametrize("weighted", [False, True])
def test_a_state_has_the_best_memberships_and_their_sums(kind, weighted):
    points, masses, centers = data(weighted)
    problem = MODELS[kind](points, masses)
    precision = None if kind.startswith("fuzz") else 0.7
    state = problem.at(centers, precision)
    expected = memberships_of(problem, centers, precision)
    sums = sums_of(problem, expected, centers, precision)
    check_statistics(state.statistics, sums, energy=precision is not None)
    np.testing.assert_allclose(state.memberships, expected, rtol=1e-9, atol=1e-12)
    assert state.objective == pytest.approx(problem.objective(state.statistics, precision), rel=1e-12)
    assert (state.centers is centers, state.precision, state.change, state.partial) == (
        True,
        precision,
        math.inf,
        False,
    )
    scanned = problem.scan(centers, precision, None)
    check_statistics(scanned.statistics, sums, energy=precision is not None)
    assert (scanned.change, scanned.partial) == (math.inf, False)


@kinds
@pytest.mark.parametrize("weighted", [False, True])
def test_a_sweep_moves_centers_to_the_means_and_measures_how_far_the_memberships_went(kind, weighted):
    points, masses, centers = data(weighted)
    problem = MODELS[kind](points, masses)
    first = problem.from_centers(centers)
    second = problem.sweep(first)
    weights = np.ones(20) if masses is None else masses
    before = memberships_of(problem, centers, first.precision)
    shares = weights[:, None] * before ** getattr(problem, "exponent", 1.0)
    means = (shares.T @ points) / shares.sum(axis=0)[:, None]
    np.testing.assert_allclose(second.centers, means, rtol=1e-9)
    scatter = (shares * cdist(points, means, "sqeuclidean")).sum()
    expected = {"plain": weights.sum() * 2 / 2 / scatter, "entropy": 0.7}.get(kind)
    assert second.precision == (None if expected is None else pytest.approx(expected, rel=1e-9))
    after = memberships_of(problem, means, second.precision)
    change = np.abs(after - before)[weights > 0].max()
    assert second.change == pytest.approx(change, rel=1e-7)
    assert second.whole_change(first) == pytest.approx(change, rel=1e-7)
    then = (first.centers, first.precision)
    scanned = problem.scan(second.centers, second.precision, then)
    assert scanned.change == pytest.approx(change, rel=1e-7)
    check_statistics(scanned.statistics, second.statistics)
    assert problem.membership_change(then, then) == 0


def test_samples_without_weight_do_not_count_in_the_change():
    points, masses, centers = data()
    for one in (PlainProblem(points, masses), FuzzyProblem(points, masses)):
        first = one.at(centers, 1e-3)
        second = one.at(centers * [[1.0], [1.0], [0.9]] + [0.0, 1.0], 1e-3, after=first)
        both = [memberships_of(one, state.centers, 1e-3) for state in (first, second)]
        changes = np.abs(both[1] - both[0]).max(axis=1)
        assert changes[[0, 13]].max() > changes[masses > 0].max() or isinstance(one, FuzzyProblem)
        scanned = one.scan(second.centers, 1e-3, (first.centers, 1e-3))
        for found in (second.change, second.whole_change(first), scanned.change):
            assert found == pytest.approx(changes[masses > 0].max(), rel=1e-7)


@kinds
@pytest.mark.parametrize("weighted", [False, True])
def test_given_memberships_start_at_their_means(kind, weighted):
    points, masses, _ = data(weighted)
    problem = MODELS[kind](points, masses)
    memberships = np.random.default_rng(2).dirichlet([1.0, 1.0, 1.0], size=20)
    weights = np.ones(20) if masses is None else masses
    shares = weights[:, None] * memberships ** getattr(problem, "exponent", 1.0)
    means = (shares.T @ points) / shares.sum(axis=0)[:, None]
    centers, precision = problem.start(memberships)
    np.testing.assert_allclose(centers, means, rtol=1e-10)
    scatter = (shares * cdist(points, means, "sqeuclidean")).sum()
    expected = {"plain": weights.sum() / scatter, "entropy": 0.7}.get(kind)
    assert precision == (None if expected is None else pytest.approx(expected, rel=1e-9))
    about = problem.statistics_about(memberships, problem.mean)
    mean = np.average(points, axis=0, weights=weights)
    expected = sums_of(problem, memberships, np.tile(mean, (3, 1)), None)
    check_statistics(about, expected)
    state = problem.from_memberships(memberships)
    assert np.array_equal(state.centers, centers)
    assert state.precision == precision


@pytest.mark.parametrize("weighted", [False, True])
def test_mass_mean_and_scatters_are_their_sums(weighted):
    points, masses, centers = data(weighted)
    problem = PlainProblem(points, masses)
    weights = np.ones(20) if masses is None else masses
    assert problem.mass == pytest.approx(weights.sum(), rel=1e-14)
    np.testing.assert_allclose(problem.sum_points(), weights @ points, rtol=1e-12)
    mean = weights @ points / weights.sum()
    np.testing.assert_allclose(problem.mean, mean, rtol=1e-12)
    assert problem.total_scatter == pytest.approx(weights @ ((points - mean) ** 2).sum(axis=1), rel=1e-12)
    nearest = cdist(points, centers, "sqeuclidean").min(axis=1)
    assert problem.nearest_scatter(centers) == pytest.approx(weights @ nearest, rel=1e-12)


def test_a_part_has_its_own_samples_and_maybe_the_scatter_of_all():
    points, masses, centers = data()
    whole = FuzzyProblem(points, masses, 1.5)
    whole.at(centers)
    part = whole.part(points[:9], masses[:9])
    assert (part.points.shape, part.masses.shape, part.exponent) == ((9, 2), (9,), 1.5)
    assert part.buffer is not whole.buffer
    known = whole.with_total_scatter(12.5)
    assert (known.total_scatter, known.points, known.exponent) == (12.5, points, 1.5)
    assert whole.total_scatter > 12.5


def test_problems_and_states_print_no_arrays_of_samples():
    points, _, centers = data(weighted=False)
    problem = PlainProblem(points)
    state = problem.at(centers, 1.0)
    assert repr(problem) == "PlainProblem()"
    assert repr(state).startswith("CenterState(centers=array")
    assert "Statistics" not in repr(state)


def test_sums_in_double_precision_leave_centers_in_single():
    points, _, _ = data(weighted=False)
    problem = PlainProblem(points.astype(np.float32))
    centers = points[:3].astype(np.float32)
    statistics = problem.at(centers, 1.0).statistics
    doubles = paper.Statistics(*(np.asarray(value, dtype=np.float64) for value in statistics))
    assert problem.update_centers(centers, doubles)[0].dtype == np.float32
    assert problem.mean.dtype == np.float32
    assert problem.at(centers, 1.0).memberships.dtype == np.float32
    assert FuzzyProblem(problem.points).at(centers).memberships.dtype == np.float32
    assert problem.at(points[:3], 1.0).memberships.dtype == np.float64


class FakePass:
    """Stands for compiled code, and remembers the call."""

    def __init__(self, *, worthwhile=True, accurate=True):
        self.answers, self.asked, self.calls = (worthwhile, accurate), [], []

    def is_worthwhile(self, points, n_clusters):
        self.asked.append((points.shape, n_clusters))
        return self.answers[0]

    def is_accurate_for(self, centers):
        self.asked.append(centers.shape)
        return self.answers[1]

    def __call__(self, *arguments):
        self.calls.append(arguments)
        return paper.Statistics(np.ones(3), np.ones((3, 2)), 2.0, 5.0), 0.25


def with_fake(compiled):
    points, _, centers = data(weighted=False)
    problem = PlainProblem(points)
    problem.__dict__["_compiled_pass"] = compiled
    return problem, centers


def test_compiled_code_is_used_where_it_is_worthwhile_and_accurate():
    fake = FakePass()
    problem, centers = with_fake(fake)
    first = problem.at(centers, 0.5)
    assert fake.calls == [(centers, 0.5, None)]
    assert fake.asked[:2] == [((20, 2), 3), (3, 2)]
    assert (first.statistics.scatter, first.change, first.partial) == (2.0, 0.25, False)
    assert first.objective == pytest.approx(problem.objective(first.statistics, 0.5))
    fake.partial = True
    later = problem.at(centers + 1, 0.6, after=first)
    assert fake.calls[1][1] == 0.6
    assert fake.calls[1][2] == (centers, 0.5)
    assert later.partial
    assert problem.buffer.values is None


@pytest.mark.parametrize("answers", [{"worthwhile": False}, {"accurate": False}])
def test_compiled_code_is_left_alone_where_it_is_not(answers):
    fake = FakePass(**answers)
    problem, centers = with_fake(fake)
    state = problem.at(centers, 0.5)
    assert problem.compiled_pass(centers) is None
    assert problem.scan(centers, 0.5, None).change == math.inf
    assert not fake.calls
    check_statistics(state.statistics, PlainProblem(problem.points).at(centers, 0.5).statistics)


class Bare(center_models.CenterProblem):
    """A model without anything of its own."""

    def expectation(self, points, masses, centers, precision):
        return paper.expectation(points, centers, precision, masses)

    def objective(self, statistics, precision):
        return 0.0

    def precision(self, scatter):
        return 1.0

    def first_precision(self, centers):
        return 1.0


def test_a_model_says_what_it_has_of_its_own():
    points, _, centers = data(weighted=False)
    bare = Bare(points)
    assert bare.compiled_pass(centers) is None
    assert bare.is_capped(1e300) is False
    assert bare.shares(points) is points
    with pytest.raises(TypeError, match="abstract"):
        center_models.CenterProblem(points)


@pytest.mark.parametrize("kind", ["plain", "fuzzy"])
def test_sweeps_write_into_one_array_until_someone_has_it(kind):
    points, _, centers = data(weighted=False)
    problem = MODELS[kind](points)
    first = problem.from_centers(centers)
    page = problem.buffer.values
    assert (page.flags.f_contiguous, page.flags.c_contiguous) == (kind == "fuzzy", kind != "fuzzy")
    second = problem.sweep(first)
    assert problem.buffer.values is page
    held = second.memberships
    assert held is page
    assert second.memberships is held  # not computed again
    copy = held.copy()
    third = problem.sweep(second)
    assert problem.buffer.values is not page
    assert np.array_equal(held, copy)
    fourth = problem.sweep(third)
    assert fourth.memberships is not page
    assert np.array_equal(second.memberships, copy)
    np.testing.assert_allclose(first.memberships, memberships_of(problem, centers, first.precision), rtol=1e-9)


def test_memberships_for_other_centers_are_not_written_over():
    points, _, centers = data(weighted=False)
    problem = PlainProblem(points)
    wanted = problem.memberships_at(centers, 0.5)
    copy = wanted.copy()
    np.testing.assert_allclose(copy, memberships_of(problem, centers, 0.5), rtol=1e-9)
    problem.at(centers + 1, 0.5)
    assert np.array_equal(wanted, copy)


def test_another_number_of_clusters_needs_another_array():
    points, _, centers = data(weighted=False)
    problem = PlainProblem(points)
    problem.at(centers, 0.5)
    state = problem.at(centers[:2], 0.5)
    assert problem.buffer.values.shape == (20, 2)
    np.testing.assert_allclose(state.memberships, memberships_of(problem, centers[:2], 0.5), rtol=1e-9)


def test_a_pass_that_breaks_leaves_no_mixture_of_memberships(monkeypatch):
    points, _, centers = data(weighted=False)
    problem = PlainProblem(points)
    first = problem.at(centers, 0.5)
    expected = memberships_of(problem, centers, 0.5)

    def broken(rows, *_):
        if np.array_equal(rows, points[14:]):
            raise KeyboardInterrupt
        return np.full((len(rows), 3), 9.0), None

    with monkeypatch.context() as patch:
        patch.setattr(PlainProblem, "expectation", lambda _, rows, *rest: broken(rows, *rest))
        with pytest.raises(KeyboardInterrupt):
            problem.at(centers + 1, 0.5)
    np.testing.assert_allclose(first.memberships, expected, rtol=1e-9)


def counted(monkeypatch):
    calls = []

    def gather(work, blocks):
        calls.append(blocks)
        return [work(rows) for rows in blocks]

    monkeypatch.setattr(center_models, "map_in_threads", gather)
    return calls


def test_several_blocks_are_shared_out_and_one_is_not(monkeypatch):
    points, _, centers = data(weighted=False)
    calls = counted(monkeypatch)
    problem = PlainProblem(points)
    problem.nearest_scatter(centers)
    assert [[(rows.start, rows.stop) for rows in blocks] for blocks in calls] == [[(0, 7), (7, 14), (14, 21)]]
    PlainProblem(points[:14]).nearest_scatter(centers)
    assert len(calls) == 2
    PlainProblem(points[:7]).nearest_scatter(centers)
    assert len(calls) == 2


@kinds
@pytest.mark.parametrize("weighted", [False, True])
def test_samples_in_chunks_have_the_same_sums(kind, weighted):
    da = pytest.importorskip("dask.array")
    points, masses, centers = data(weighted)
    whole = MODELS[kind](points, masses)
    chunks = MODELS[kind](
        da.from_array(points, chunks=(8, 2)), None if masses is None else da.from_array(masses, chunks=8)
    )
    assert chunks.mass == pytest.approx(whole.mass, rel=1e-14)
    np.testing.assert_allclose(chunks.mean, whole.mean, rtol=1e-12)
    assert chunks.total_scatter == pytest.approx(whole.total_scatter, rel=1e-12)
    first, same = chunks.from_centers(centers), whole.from_centers(centers)
    second, also = chunks.sweep(first), whole.sweep(same)
    np.testing.assert_allclose(second.centers, also.centers, rtol=1e-9)
    assert second.change == pytest.approx(also.change, rel=1e-7)
    assert second.objective == pytest.approx(also.objective, rel=1e-9)
    assert second.whole_change(first) == pytest.approx(also.change, rel=1e-7)
    assert chunks.buffer.values is None
    assert second.memberships.chunks == ((8, 8, 4), (3,))
    np.testing.assert_allclose(second.memberships.compute(), also.memberships, rtol=1e-7)
    given = np.random.default_rng(2).dirichlet([1.0, 1.0, 1.0], size=20)
    start, _ = chunks.start(da.from_array(given, chunks=(8, 3)))
    np.testing.assert_allclose(start, whole.start(given)[0], rtol=1e-10)


def test_results_of_parts_add_up_in_their_order():
    arrays = [np.array([1.0, 2.0]), np.array([3.0, 5.0]), np.array([10.0, 20.0])]
    np.testing.assert_array_equal(passes.add_parts(arrays), [14.0, 27.0])
    np.testing.assert_array_equal(arrays[0], [1.0, 2.0])
    assert passes.add_parts([(0.5, 1), (0.25, 2), (4.0, 3)]) == (4.75, 6)
    statistics = [paper.Statistics(np.full(2, t), np.full((2, 1), -t), t, 2 * t) for t in (1.0, 4.0)]
    results = [passes.PassResult(statistics[0], 0.5), passes.PassResult(statistics[1], 0.25, partial=True)]
    merged = passes.merge_results(results)
    assert (merged.change, merged.partial, merged.statistics.scatter) == (0.5, True, 5.0)
    assert isinstance(merged.statistics, paper.Statistics)
    np.testing.assert_array_equal(merged.statistics.moments, [[-5.0], [-5.0]])
    assert not passes.merge_results(results[:1]).partial


def test_tensors_are_worked_on_block_after_block(monkeypatch):
    torch = pytest.importorskip("torch")
    from afcm.arrays import torch_arrays

    monkeypatch.setattr(torch_arrays, "BLOCK_ROWS", 7)
    calls = counted(monkeypatch)
    points, masses, centers = data()
    problem = PlainProblem(*map(torch.as_tensor, (points, masses)))
    state = problem.sweep(problem.from_centers(torch.as_tensor(centers)))
    assert not calls
    same = PlainProblem(points, masses)
    np.testing.assert_allclose(state.centers, same.sweep(same.from_centers(centers)).centers, rtol=1e-9)
