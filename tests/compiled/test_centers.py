"""The compiled look at all samples is the equation, whatever the sizes, masses and types."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

pytest.importorskip("numba")
from numba import njit

from afcm import FCM, EntropyFCM, PlainAFCM
from afcm.compiled import centers as center_loops
from afcm.compiled import tiles
from afcm.compiled.centers import NumbaPass
from afcm.equations import fuzzy_c_means, paper
from afcm.fitting.loop import alternate, memberships_still
from afcm.models.fuzzy import FuzzyProblem
from afcm.models.plain import PlainProblem


def case(n_samples, n_columns, n_clusters, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    centers = 2 * rng.standard_normal((n_clusters, n_columns))
    points = centers[rng.integers(n_clusters, size=n_samples)] + rng.standard_normal((n_samples, n_columns))
    return points.astype(dtype), (centers + 0.1).astype(dtype), rng.uniform(0.5, 2, n_samples).astype(dtype)


def expected(points, masses, centers, precision, fuzzy):
    exact = [array if array is None else array.astype(np.float64) for array in (points, masses, centers)]
    points, masses, centers = exact
    if fuzzy:
        return fuzzy_c_means.fuzzy_expectation(points, centers, 2.0, masses)[1]._replace(free_energy=0.0)
    return paper.expectation(points, centers, precision, masses)[1]


def assert_same(found, wanted, tol):
    for name in paper.Statistics._fields:
        a, b = np.asarray(getattr(found, name)), np.asarray(getattr(wanted, name))
        assert a.shape == b.shape, name
        assert np.abs(a - b).max() <= tol * max(np.abs(b).max(), 1e-300), name


@pytest.mark.parametrize("fuzzy", [False, True])
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 3, 2), (127, 4, 3), (128, 16, 10), (301, 7, 33), (1000, 100, 2)])
def test_statistics_are_those_of_the_equation(shape, weighted, dtype, tol, fuzzy):
    points, centers, masses = case(*shape, dtype=dtype)
    masses = masses if weighted else None
    found = NumbaPass(points, masses, fuzzy).statistics(centers, 0.5)
    assert found.totals.dtype == found.moments.dtype == dtype
    assert_same(found, expected(points, masses, centers, 0.5, fuzzy), tol)


@pytest.mark.parametrize("precision", [1e-6, 1.0, 1e4, 1e12])
def test_any_fuzziness(precision):
    points, centers, _ = case(500, 5, 4)
    assert_same(
        NumbaPass(points, None).statistics(centers, precision),
        expected(points, None, centers, precision, False),
        1e-9,
    )


@pytest.mark.parametrize("fuzzy", [False, True])
def test_a_common_offset_costs_few_digits(fuzzy):
    points, centers, _ = case(400, 6, 3)
    points, centers = points + 1e8, centers + 1e8
    assert_same(
        NumbaPass(points, None, fuzzy).statistics(centers, 0.5), expected(points, None, centers, 0.5, fuzzy), 1e-6
    )


def test_samples_on_centres_belong_to_them():
    points, centers, _ = case(40, 3, 4)
    points[:4], centers[3] = centers, centers[2]  # the last two coincide
    assert_same(
        NumbaPass(points, None, True).statistics(centers, None), expected(points, None, centers, None, True), 1e-12
    )


@pytest.mark.parametrize("fuzzy", [False, True])
def test_chunks_add_up_and_threads_do_not_matter(monkeypatch, fuzzy):
    points, centers, masses = case(5000, 8, 5)
    look = NumbaPass(points, masses, fuzzy)
    monkeypatch.setattr(center_loops, "CHUNK_ROWS", 700)
    many = look.statistics(centers, 0.5)
    assert_same(many, expected(points, masses, centers, 0.5, fuzzy), 1e-12)
    monkeypatch.setattr(center_loops, "for_each", lambda work, items: [work(item) for item in reversed(items)])
    again = look.statistics(centers, 0.5)
    assert all(np.array_equal(a, b) for a, b in zip(many, again, strict=True))


@njit
def raise_each(exponents):
    powers = np.empty_like(exponents)
    for i in range(exponents.size):
        powers[i] = tiles.raise_two(exponents[i])
    return powers


@pytest.mark.parametrize(("dtype", "least", "tol"), [
    (np.float64, tiles.LEAST_64, 5e-16),
    (np.float32, tiles.LEAST_32, 2e-7),
])  # fmt: skip
def test_powers_of_two(dtype, least, tol):
    values = np.concatenate([np.linspace(1.05 * least, 0, 100_001), -np.geomspace(1e-300, 1, 1000), [-np.inf, least]])
    values = values.astype(dtype)
    found = raise_each(values)
    seen = values >= least
    exact = np.exp2(values[seen].astype(np.longdouble))
    assert found.dtype == dtype
    assert np.abs(found[seen] / exact - 1).max() < tol
    assert not found[~seen].any()
    assert found[values == 0].tolist() == [1.0] * int((values == 0).sum())


def tile_case(size, n_columns, n_clusters, dtype):
    """A tile and centers about a reference, filled up with zeros as the loops expect."""
    points, centers, masses = case(size, n_columns, n_clusters, dtype=dtype)
    reference = centers.mean(axis=0)
    targets = np.zeros((n_clusters + n_clusters % 2, n_columns + -n_columns % 4), dtype)
    targets[:n_clusters, :n_columns] = centers - reference
    columns = np.full((targets.shape[1], size), np.nan, dtype)
    tiles.transpose_tile(points, reference, columns)
    return points - reference, targets, columns, masses


SHAPES = [(1, 1, 1), (7, 3, 2), (8, 4, 3), (13, 5, 4), (128, 16, 10), (61, 18, 7)]
TYPES = [(np.float64, 1e-13), (np.float32, 2e-6)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("dtype", "tol"), TYPES)
def test_a_tile_is_transposed_measured_and_summed(shape, dtype, tol):
    shifted, targets, columns, _ = tile_case(*shape, dtype)
    filled = np.zeros((shape[0], targets.shape[1]))
    filled[:, : shape[1]] = shifted
    assert np.array_equal(columns, filled.T.astype(dtype))
    costs = np.full((len(targets), shape[0]), np.nan, dtype)
    tiles.measure_distances(columns, targets, costs)
    exact = ((filled[None] - targets.astype(np.float64)[:, None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(costs, exact, rtol=tol)
    lowest = np.empty(shape[0], dtype)
    tiles.find_lowest(costs, lowest)
    assert np.array_equal(lowest, costs.min(axis=0))
    moments = np.ones(targets.shape)  # what is there stays there
    tiles.add_moments(columns, costs, moments)
    exact = 1 + costs.astype(np.float64) @ filled
    assert np.abs(moments - exact).max() <= tol * shape[0] ** 0.5 * np.abs(exact).max()


@pytest.mark.parametrize("fuzzy", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("dtype", "tol"), TYPES)
def test_a_tile_has_the_memberships_and_shares_of_the_equation(shape, dtype, tol, weighted, fuzzy):
    points, centers, masses = case(*shape, dtype=dtype)
    costs = ((points[None] - centers[:, None]) ** 2).sum(axis=2)
    exact = costs.T.astype(np.float64)
    degrees = fuzzy_c_means.fuzzy_memberships(exact, 2.0) if fuzzy else paper.memberships(exact, 0.5)
    shares = paper.weighted(degrees**2 if fuzzy else degrees, masses if weighted else None)
    lowest, spread, scatter, weights = costs.min(axis=0), *np.empty((3, shape[0]), dtype)
    if fuzzy:
        tiles.sharpen_tile(costs, lowest, spread, scatter)
    else:
        tiles.soften_tile(costs, 0.5, lowest, spread, scatter)
    found, totals = np.empty_like(costs), np.ones(shape[2])
    tiles.write_memberships(costs, spread, found)
    np.testing.assert_allclose(found.T, degrees, atol=tol)
    total = tiles.weigh_samples(spread, masses if weighted else masses[:0], fuzzy, scatter, weights)
    assert total == pytest.approx((shares * exact).sum(), rel=tol * shape[0] ** 0.5)
    tiles.weigh_memberships(costs, weights, fuzzy, totals)
    np.testing.assert_allclose(costs.T, shares, atol=2 * tol)
    np.testing.assert_allclose(totals, 1 + shares.sum(axis=0), rtol=2 * tol)


@pytest.mark.parametrize("fuzzy", [False, True])
@pytest.mark.parametrize(("dtype", "tol"), TYPES)
def test_watched_samples_have_the_memberships_of_the_equation(fuzzy, dtype, tol, monkeypatch):
    monkeypatch.setattr(center_loops, "WATCHED_ROWS", 150)
    points, centers, masses = case(1001, 5, 3, dtype=dtype)
    masses[::3] = 0
    for weights in (None, masses):
        look = NumbaPass(points, weights, fuzzy)
        before, after = (
            fuzzy_c_means.fuzzy_memberships(costs, 2.0) if fuzzy else paper.memberships(costs, 0.5)
            for costs in (paper.squared_distances(look.watched.astype(np.float64), at) for at in (centers, centers + 1))
        )
        _, change = look(centers + 1, 0.5, (centers, 0.5))
        assert 150 <= len(look.watched) <= 300
        assert change == pytest.approx(np.abs(after - before).max(), abs=20 * tol)


def test_memory_mapped_and_read_only_samples(tmp_path):
    points, centers, _ = case(1000, 4, 3)
    np.save(tmp_path / "x.npy", points)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert_same(NumbaPass(mapped, None).statistics(centers, 0.5), expected(points, None, centers, 0.5, False), 1e-12)
    assert_same(NumbaPass(points[:, ::-1], None).statistics(centers[:, ::-1], 0.5),
                expected(points[:, ::-1], None, centers[:, ::-1], 0.5, False), 1e-12)  # fmt: skip


@pytest.fixture
def always(monkeypatch):
    """Compiled loops even for few samples, and few of them watched."""
    monkeypatch.setattr(center_loops, "WORTH_COMPILING", 0)
    monkeypatch.setattr("afcm.compiled.dispatch.WORTH_FUSING", 0)
    monkeypatch.setattr(center_loops, "WATCHED_ROWS", 50)


@pytest.mark.parametrize("model", [PlainAFCM(4, n_init=1), EntropyFCM(4, gamma=0.4, n_init=1), FCM(4, n_init=1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_fits_are_the_same_with_and_without(always, monkeypatch, model, weighted):
    points, centers, masses = case(2000, 5, 4)
    masses = masses if weighted else None
    fast = clone(model).set_params(init=centers).fit(points, sample_weight=masses)
    monkeypatch.setattr("afcm.compiled.dispatch.WORTH_FUSING", 1e99)
    slow = clone(model).set_params(init=centers).fit(points, sample_weight=masses)
    assert fast.n_iter_ >= slow.n_iter_  # J may stand still a sweep later in other rounding
    assert fast.memberships_ == pytest.approx(slow.memberships_, abs=1e-5)
    assert fast.objective_ == pytest.approx(slow.objective_, rel=1e-9)
    assert np.diff(fast.history_["objective"]).max() <= 1e-9 * abs(fast.objective_)


@pytest.mark.parametrize("model", [PlainAFCM(4, n_init=1), EntropyFCM(4, gamma=0.4, n_init=1), FCM(4, n_init=1)])
@pytest.mark.parametrize("fused", [False, True])
def test_samples_of_weight_0_do_not_decide_when_a_run_stops(always, monkeypatch, model, fused):
    points, centers, _ = case(2000, 5, 4)
    masses = np.arange(2000) % 2.0  # every sample that would be watched first has none
    if not fused:
        monkeypatch.setattr("afcm.compiled.dispatch.WORTH_FUSING", 1e99)
    weighted = clone(model).set_params(init=centers).fit(points, sample_weight=masses)
    alone = clone(model).set_params(init=centers).fit(points[1::2])
    np.testing.assert_allclose(weighted.history_["objective"], alone.history_["objective"], rtol=1e-9)
    largest = weighted.history_["membership_change"], alone.history_["membership_change"]
    np.testing.assert_allclose(*largest, rtol=1e-3)


def test_fcm_with_another_exponent_goes_by_blocks(always):
    points, centers, _ = case(300, 3, 3)
    assert FuzzyProblem(points, None, 2.0).compiled_pass(centers) is not None
    assert FuzzyProblem(points, None, 1.7).compiled_pass(centers) is None


def test_a_run_ends_only_when_all_samples_stand_still(always):
    points, centers, _ = case(1000, 2, 3)
    problem = PlainProblem(points)
    first = problem.from_centers(centers)
    second = problem.sweep(first)
    before, after = (
        paper.memberships(paper.squared_distances(points, state.centers), state.precision) for state in (first, second)
    )
    exact = np.abs(after - before).max()
    assert second.partial
    assert second.change < exact == pytest.approx(second.whole_change(first))
    watched_only = second.change * 1.01  # content with the watched ones, not with all
    runs = list(alternate(problem, first, max_iter=1, tol=watched_only, stop=memberships_still))
    assert not runs[0].converged
    assert runs[0].change == pytest.approx(exact)
    (content,) = alternate(problem, first, max_iter=1, tol=1.01 * exact, stop=memberships_still)
    assert content.converged


def test_few_samples_do_not_load_numba():
    code = (
        "import sys, numpy as np; from afcm import PlainAFCM\n"
        "PlainAFCM(3, random_state=0).fit(np.random.default_rng(0).normal(size=(5000, 4)))\n"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False).returncode == 0
