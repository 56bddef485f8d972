"""Three ways to do one sweep, one result: plain Python, Numba, NumPy."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from afcm.baselines import CDKM, equations, loops
from afcm.graph.anchors.weights import anchor_weights
from tests.baselines.data import blobs
from tests.strategies import quick

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture
def no_numba(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    loops.compile_loop.cache_clear()
    yield
    loops.compile_loop.cache_clear()


def hartigan(loop, points, labels, c):
    labels = labels.copy()
    loop(points, labels, equations.cluster_means(points, labels, c), np.bincount(labels, minlength=c))
    return labels


def anchor_sweep(loop, gram, labels, c):
    labels, indicator = labels.copy(), np.eye(c)[labels]
    links = gram @ indicator
    squares, sizes = equations.cluster_squares(links, indicator), np.bincount(labels, minlength=c)
    loop(loops.Gram(gram.indptr, gram.indices, gram.data, gram.diagonal()), links, squares, sizes, labels)
    return labels


@quick
@given(seeds, st.integers(1, 5), st.sampled_from([3, 40, 300]))
def test_hartigan_sweeps_agree(seed, c, n):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((max(n, c), 3))
    labels = rng.permutation(np.arange(len(points)) % c)
    scalar = hartigan(loops.hartigan_scalar, points, labels, c)
    np.testing.assert_array_equal(hartigan(loops.hartigan_vectorized, points, labels, c), scalar)
    np.testing.assert_array_equal(np.unique(scalar), np.arange(c))  # no cluster was emptied


@quick
@given(seeds, st.integers(1, 5), st.floats(-1e3, 1e3))
def test_moments_agree(seed, c, offset):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((300, 3)) + offset
    labels = rng.permutation(np.arange(300) % c)
    (means, again), centers = np.empty((2, c, 3)), equations.cluster_means(points, labels, c)
    scatter = loops.moments_scalar(points, labels, means)
    np.testing.assert_allclose(scatter, equations.hard_scatter(points, labels, centers), rtol=1e-10)
    assert loops.moments_vectorized(points, labels, again) == pytest.approx(scatter, rel=1e-10)
    np.testing.assert_allclose(means, centers, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(again, centers)


@quick
@given(seeds, st.integers(1, 5))
def test_anchor_sweeps_agree(seed, c):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((60, 2))
    rows = anchor_weights(points, points[:20], 4)
    labels = rng.permutation(np.arange(20) % c)
    gram = sp.csr_array(rows.T @ rows)
    scalar = anchor_sweep(loops.anchors_scalar, gram, labels, c)
    np.testing.assert_array_equal(anchor_sweep(loops.anchors_vectorized, gram, labels, c), scalar)
    np.testing.assert_array_equal(np.unique(scalar), np.arange(c))


def test_compiled_loops_agree_with_the_python_they_come_from():
    pytest.importorskip("numba")
    X, _ = blobs(400, 5, 4, 3.0)
    rng = np.random.default_rng(0)
    labels, few = rng.integers(4, size=400), rng.permutation(np.arange(40) % 4)
    rows = anchor_weights(X, X[:40], 5)
    gram = sp.csr_array(rows.T @ rows)
    for loop, sweep, arguments in (
        (loops.hartigan_scalar, hartigan, (X, labels, 4)),
        (loops.anchors_scalar, anchor_sweep, (gram, few, 4)),
    ):
        after = sweep(loop, *arguments)
        assert (after != arguments[1]).any()
        np.testing.assert_array_equal(sweep(loops.compile_loop(loop), *arguments), after)


def test_whole_fits_agree_with_and_without_numba(request, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(loops, "WORTH_COMPILING", 0)
    X, _ = blobs(1000, 6, 7, 4.0)
    fast = CDKM(7, random_state=0).fit(X)
    request.getfixturevalue("no_numba")
    slow = CDKM(7, random_state=0).fit(X)
    np.testing.assert_array_equal(slow.labels_, fast.labels_)
    assert slow.n_iter_ == fast.n_iter_


@pytest.mark.usefixtures("no_numba")
def test_numba_is_not_needed():
    assert loops.compile_loop(loops.hartigan_scalar) is None
    assert loops.choose_loop(loops.hartigan_scalar, loops.hartigan_vectorized, 10**9) is loops.hartigan_vectorized


def test_little_work_is_not_worth_compiling():
    assert loops.choose_loop(loops.hartigan_scalar, loops.hartigan_vectorized, 100) is loops.hartigan_vectorized
