import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans
from sklearn.metrics import confusion_matrix
from sklearn.neighbors import kneighbors_graph

from afcm.datasets import make_rings, make_spirals

TOYS = [pytest.param(make_spirals, [500, 500], id="spirals"), pytest.param(make_rings, [300] * 3, id="rings")]
SEEDS = range(5)


def accuracy(y, labels):
    table = confusion_matrix(y, labels)
    return table[linear_sum_assignment(-table)].sum() / len(y)


@pytest.mark.parametrize(("make", "sizes"), TOYS)
def test_default_sizes_are_the_papers_and_grouped_by_cluster(make, sizes):
    X, y = make(random_state=0)
    assert X.shape == (sum(sizes), 2)
    assert X.dtype == np.float64
    np.testing.assert_array_equal(y, np.repeat(np.arange(len(sizes)), sizes))


@given(total=st.integers(3, 40))
def test_a_total_is_shared_as_evenly_as_possible(total):
    for make, n_clusters in ((make_spirals, 2), (make_rings, 3)):
        counts = np.bincount(make(total, random_state=0)[1], minlength=n_clusters)
        assert counts.sum() == total
        assert np.ptp(counts) <= 1


def test_sizes_can_be_given_per_cluster():
    assert np.bincount(make_spirals((7, 4), random_state=0)[1]).tolist() == [7, 4]
    assert np.bincount(make_rings([1, 2, np.int64(3)], random_state=0)[1]).tolist() == [1, 2, 3]


@pytest.mark.parametrize(("make", "sizes"), TOYS)
def test_a_seed_fixes_the_points_and_another_changes_them(make, sizes):
    first, again, other = (make(random_state=seed)[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    np.testing.assert_array_equal(make(random_state=np.random.RandomState(3))[0], first)


@pytest.mark.parametrize(("make", "sizes"), TOYS)
def test_shuffling_moves_points_together_with_their_labels(make, sizes):
    X, y = make(random_state=1)
    mixed_X, mixed_y = make(shuffle=True, random_state=1)
    assert not np.array_equal(mixed_y, y)
    rows = {tuple(point): label for point, label in zip(X, y, strict=True)}
    assert [rows[tuple(point)] for point in mixed_X] == mixed_y.tolist()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("make", "sizes"), TOYS)
def test_centres_cannot_describe_the_clusters(make, sizes, seed):
    X, y = make(random_state=seed)
    labels = KMeans(len(sizes), n_init=2, random_state=seed).fit_predict(X)
    assert accuracy(y, labels) < 0.75


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("make", "sizes"), TOYS)
def test_nearest_neighbours_are_pure_and_their_graph_has_one_piece_per_cluster(make, sizes, seed):
    X, y = make(random_state=seed)
    nearest = kneighbors_graph(X, 1).indices
    assert (y[nearest] == y).all()
    for k in (8, 10, 12):
        assert connected_components(kneighbors_graph(X, k), directed=False)[0] == len(sizes)


def test_without_noise_arms_and_rings_are_one_apart():
    X, y = make_spirals((400, 400), noise=0, random_state=0)
    np.testing.assert_allclose(X[y == 0], -X[y == 1], atol=1e-12)
    gaps = np.linalg.norm(X[y == 0][:, None] - X[y == 1], axis=2).min(axis=1)
    assert 0.8 < gaps.min() <= gaps.max() < 1.05
    X, y = make_rings(noise=0, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), y + 1)


@pytest.mark.parametrize("n_samples", [2, (5, 5), (5, 5, 0), (5, 5, 5.0), 9.0, "abc", True, -900])
def test_impossible_sizes_are_refused_by_name(n_samples):
    with pytest.raises(ValueError, match=r"n_samples=.* must be an int ≥ 3 or a sequence of 3 ints ≥ 1"):
        make_rings(n_samples)


@pytest.mark.parametrize("noise", [-0.1, np.nan, np.inf])
@pytest.mark.parametrize(("make", "sizes"), TOYS)
def test_impossible_noise_is_refused_by_name(make, sizes, noise):
    with pytest.raises(ValueError, match=r"noise=.* must be a finite number ≥ 0"):
        make(noise=noise)
