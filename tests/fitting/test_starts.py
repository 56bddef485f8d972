"""Starting points against slow formulas: every draw, every row, and which of two spectral starts is taken."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans, kmeans_plusplus

from afcm.fitting import starts
from afcm.graph import affinity
from afcm.graph.duplicates import merge_duplicates
from afcm.linalg.operator import Eigenpairs
from afcm.linalg.pivoting import find_pivots


def seeded(seed=0):
    return np.random.RandomState(seed)


def test_random_memberships_are_the_draws_of_the_seed_divided_by_their_sums():
    draws = seeded().random_sample((6, 3))
    expected = draws / draws.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(starts.draw_memberships(6, 3, seeded()), expected, rtol=1e-14)


def test_draws_of_nothing_but_zeros_become_equal_memberships():
    np.testing.assert_array_equal(starts.to_memberships(np.zeros((2, 4))), np.full((2, 4), 0.25))
    assert (starts.to_memberships(np.array([[0.0, 0.5]])) > 0).all()


def test_labels_become_hard_memberships_and_undecided_ones_equal_shares():
    expected = [[1, 0, 0, 0], [0.25] * 4, [0, 0, 0, 1], [0, 1, 0, 0]]
    np.testing.assert_array_equal(starts.one_hot(np.array([0, -1, 3, 1]), 4), expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_seeds_are_those_of_k_means_plus_plus_on_the_different_samples(weighted, dtype, monkeypatch):
    rng = np.random.default_rng(3)
    points = rng.standard_normal((12, 2)).astype(dtype)
    points[[4, 9, 11]] = points[2]
    masses = rng.uniform(0.5, 3.0, 12) if weighted else None
    monkeypatch.setattr(starts, "SEED_SAMPLE", 12)
    rows, sums, _ = merge_duplicates(points, masses)
    assert rows.size == 9
    found = starts.seed_centers(points, 3, masses, seeded())
    expected = kmeans_plusplus(points[rows], 3, sample_weight=sums, random_state=seeded())[0]
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == dtype


@pytest.mark.parametrize("weighted", [False, True])
def test_seeds_of_many_samples_are_those_of_a_sample(weighted, monkeypatch):
    rng = np.random.default_rng(4)
    points, masses = rng.standard_normal((40, 2)), rng.uniform(0.5, 3.0, 40) if weighted else None
    monkeypatch.setattr(starts, "SEED_SAMPLE", 15)
    random = seeded()
    rows = np.sort(random.choice(40, 15, replace=False))
    kept, sums, _ = merge_duplicates(points[rows], None if masses is None else masses[rows])
    expected = kmeans_plusplus(points[rows][kept], 3, sample_weight=sums, random_state=random)[0]
    np.testing.assert_array_equal(starts.seed_centers(points, 3, masses, seeded()), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_k_means_is_the_best_of_several_runs(weighted):
    rng = np.random.default_rng(5)
    points, masses = rng.standard_normal((30, 2)), rng.uniform(0.1, 9.0, 30) if weighted else None
    for n_runs in (1, 4):
        model = KMeans(4, n_init=n_runs, random_state=seeded()).fit(points, sample_weight=masses)
        found = starts.k_means(points, 4, masses, seeded(), n_runs)
        np.testing.assert_array_equal(found, model.labels_)
        assert found.dtype == np.intp


def test_fewer_different_rows_than_clusters_are_no_news():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels = starts.k_means(np.repeat([[0.0], [1.0]], 5, axis=0), 3, None, seeded())
    assert np.unique(labels).size == 2


def test_other_warnings_of_k_means_are_heard(monkeypatch):
    class Talking(KMeans):
        def fit(self, *arguments, **how):
            warnings.warn("something else", RuntimeWarning, stacklevel=1)
            return super().fit(*arguments, **how)

    monkeypatch.setattr(starts, "KMeans", Talking)
    with pytest.warns(RuntimeWarning, match="something else"):
        starts.k_means(np.array([[0.0], [1.0]]), 2, None, seeded())


def graph_of(weights, masses=None):
    return affinity.normalize_graph(sp.csr_array(np.asarray(weights, dtype=float)), masses)


def chain(*links):
    """Nodes in a row with these similarities between neighbors."""
    return np.diag(links, 1) + np.diag(links, -1)


def cut_slowly(weights, labels):
    """Σ over clusters of the weight that leaves it by all weight at its nodes."""
    total = 0.0
    for label in np.unique(labels):
        inside = labels == label
        total += weights[inside][:, ~inside].sum() / weights[inside].sum()
    return total


class FakeKMeans:
    """Gives prepared labels, and remembers what it was asked."""

    def __init__(self, *labels):
        self.labels, self.calls = [np.array(one) for one in labels], []

    def __call__(self, points, n_clusters, masses, random, n_runs):
        self.calls.append((points, n_clusters, masses, random, n_runs))
        return self.labels[len(self.calls) - 1]


VECTORS = np.array([[3.0, 4.0], [0.6, 0.8], [1.0, 0.0], [2.0, 0.0], [0.0, 5.0], [0.0, 1.0]])


def start_with(fake, graph, monkeypatch, **how):
    asked = []

    def solve(n_wanted):
        asked.append(n_wanted)
        return Eigenpairs(VECTORS, np.ones(2), VECTORS, 0.0, 0.0, 0, True)

    monkeypatch.setattr(starts, "k_means", fake)
    eigen, memberships = starts.spectral_start(graph, 2, None, seeded(), solve=solve, **how)
    assert asked == [2]
    assert eigen.vectors is VECTORS
    return memberships


@pytest.mark.parametrize(
    ("weak", "taken"),
    [(0.5, 0), (0.3, 0), (0.28, 0), (0.26, 1), (0.01, 1)],
)
def test_a_rival_start_is_taken_only_if_it_cuts_the_graph_four_times_better(weak, taken, monkeypatch):
    weights = chain(1.0, 1.0, weak, 1.0, 1.0)
    weights[1, 2] = weights[2, 1] = 1.0
    first, rival = np.array([0, 0, 1, 1, 1, 1]), np.array([0, 0, 0, 1, 1, 1])
    cuts = [cut_slowly(weights, labels) for labels in (first, rival)]
    assert cuts[1] < cuts[0]  # so that a comparison without the factor takes the rival
    assert (cuts[1] < 0.25 * cuts[0]) == bool(taken)
    fake = FakeKMeans(first, rival)
    memberships = start_with(fake, graph_of(weights), monkeypatch)
    np.testing.assert_array_equal(memberships, np.eye(2)[(first, rival)[taken]])
    assert len(fake.calls) == 2


@pytest.mark.parametrize(
    ("cuts", "taken", "n_runs"),
    [
        ([0.002, 0.0], 0, 1),  # exactly clean enough
        ([0.00201, 0.0], 1, 2),
        ([0.8, 0.2], 0, 2),  # exactly a quarter
        ([0.8, 0.1999], 1, 2),
        ([1.9, 0.1], 1, 2),
    ],
)
def test_the_bounds_of_a_clean_and_of_a_decisive_cut(cuts, taken, n_runs, monkeypatch):
    first, rival = [0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 1]
    fake, left = FakeKMeans(first, rival), list(cuts)
    monkeypatch.setattr(starts, "cut_labels", lambda *_: (left.pop(0), None))
    memberships = start_with(fake, graph_of(chain(1.0, 1.0, 1.0, 1.0, 1.0)), monkeypatch)
    np.testing.assert_array_equal(memberships, np.eye(2)[[first, rival][taken]])
    assert len(fake.calls) == n_runs


@pytest.mark.parametrize("masses", [None, np.array([1.0, 2.0, 3.0, 1.0, 1.0, 2.0])])
def test_k_means_runs_on_directions_and_then_on_the_random_walk(masses, monkeypatch):
    weights = chain(1.0, 2.0, 0.1, 1.0, 3.0)
    fake = FakeKMeans([0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1])
    start_with(fake, graph_of(weights, masses), monkeypatch, n_runs=7)
    volumes = weights.sum(axis=1) if masses is None else masses * (weights @ masses)
    lengths = np.sqrt((VECTORS**2).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(fake.calls[0][0], VECTORS / lengths, rtol=1e-14)
    np.testing.assert_allclose(fake.calls[1][0], VECTORS / np.sqrt(volumes)[:, None], rtol=1e-14)
    for _, n_clusters, used, random, n_runs in fake.calls:
        assert (n_clusters, n_runs) == (2, 7)
        assert used is masses
        assert isinstance(random, np.random.RandomState)


def forbidden(n_wanted):
    raise AssertionError("the eigenvectors of a graph in pieces are known")


def pieces(*sizes, isolated=0):
    """Complete graphs of (nodes, similarity), then nodes without neighbors."""
    return sp.block_diag(
        [value * sp.coo_array(np.ones((size, size)) - np.eye(size)) for size, value in sizes]
        + [np.zeros((isolated, isolated))]
    ).toarray()


def test_a_graph_in_as_many_pieces_as_clusters_is_its_own_answer():
    weights = pieces((2, 3.0), (3, 1.0), isolated=1)
    eigen, memberships = starts.spectral_start(graph_of(weights), 2, None, seeded(), solve=forbidden)
    np.testing.assert_array_equal(memberships, [[1, 0]] * 2 + [[0, 1]] * 3 + [[0.5, 0.5]])
    roots = np.sqrt(weights.sum(axis=1))
    expected = np.array([[1, 0]] * 2 + [[0, 1]] * 3 + [[0, 0]]) * roots[:, None]
    np.testing.assert_allclose(eigen.vectors, expected / np.sqrt((expected**2).sum(axis=0)), rtol=1e-14)
    np.testing.assert_array_equal(eigen.values, [1.0, 1.0])


def test_more_pieces_than_clusters_are_joined_by_their_volumes():
    """By volume (20, 1.2, 6) the last two are smallest; by the number of nodes (2, 4, 3) others would be."""
    weights = pieces((2, 10.0), (4, 0.1), (3, 1.0), isolated=2)
    _, memberships = starts.spectral_start(graph_of(weights), 2, None, seeded(), solve=forbidden)
    np.testing.assert_array_equal(memberships, [[1, 0]] * 2 + [[0, 1]] * 7 + [[0.5, 0.5]] * 2)


def test_near_pieces_are_joined_before_far_ones():
    weights = pieces((2, 1.0), (2, 1.0), (2, 1.0))
    points = np.array([[0.0], [1.0], [50.0], [51.0], [3.0], [4.0]])
    _, memberships = starts.spectral_start(graph_of(weights), 2, points, seeded(), solve=forbidden)
    np.testing.assert_array_equal(memberships.argmax(axis=1), [0, 0, 1, 1, 0, 0])


def test_a_prepared_graph_starts_from_its_own_graph_points_and_eigenvectors(monkeypatch):
    calls = []
    monkeypatch.setattr(starts, "spectral_start", lambda *arguments, **how: calls.append((arguments, how)))
    prepared = SimpleNamespace(start_graph="graph", start_points="points", start_eigenvectors="solve")
    random = seeded()
    starts.start_prepared(prepared, 4, random, 9)
    starts.start_prepared(prepared, 4, random)
    assert calls[0] == (("graph", 4, "points", random), {"solve": "solve", "n_runs": 9})
    assert calls[1][1]["n_runs"] == starts.KMEANS_RESTARTS


def test_the_precision_of_k_means_is_that_of_the_scatter_of_its_clusters():
    rng = np.random.default_rng(8)
    points = np.concatenate([rng.standard_normal((20, 2)) + np.array([shift, 0.0]) for shift in (0.0, 4.0, 9.0)])
    masses = rng.uniform(0.5, 3.0, 60)
    first = points[[0, 1, 2]]  # all in one cluster: several sweeps lead away
    for weights in (None, masses):
        model = KMeans(3, init=first, n_init=1, tol=0.0).fit(points, sample_weight=weights)
        total = 60 if weights is None else masses.sum()
        found = starts.k_means_precision(points, weights, first)
        assert found == pytest.approx(total * 2 / 2 / model.inertia_, rel=1e-9)


def test_tensors_keep_their_place():
    torch = pytest.importorskip("torch")
    from afcm.fitting import torch_k_means

    rng = np.random.default_rng(5)
    points, masses = rng.standard_normal((30, 2)), rng.uniform(0.1, 9.0, 30)
    tensors = torch.as_tensor(points), torch.as_tensor(masses)
    centers = starts.seed_centers(tensors[0], 4, tensors[1], seeded())
    assert isinstance(centers, torch.Tensor)
    np.testing.assert_array_equal(centers, starts.seed_centers(points, 4, masses, seeded()))
    labels = starts.k_means(tensors[0], 4, tensors[1], seeded(), 1)
    assert isinstance(labels, torch.Tensor)
    np.testing.assert_array_equal(labels, starts.k_means(points, 4, masses, seeded(), 1))
    assert not np.array_equal(labels, starts.k_means(points, 4, masses, seeded()))  # more runs find something else
    calls = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch_k_means, "k_means", lambda *arguments: calls.append(arguments))
        for limit in (60, 59):  # as many numbers as there are, and one fewer
            patch.setattr(torch_k_means, "HOST_KMEANS", limit)
            starts.k_means(tensors[0], 4, tensors[1], seeded(), 3)
    assert len(calls) == 1
    assert calls[0][:2] == tensors
    assert len(calls[0][2]) == 2  # seeds: the pivots and some that are drawn


@pytest.mark.parametrize("weighted", [False, True])
def test_drawn_seeds_are_rows_of_different_clusters(weighted):
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 6
    points = 20.0 * np.eye(6)[labels] + rng.standard_normal((300, 6))
    masses = rng.uniform(0.5, 2.0, 300) if weighted else None
    seeds = starts.draw_seeds(points, 6, masses, seeded())
    assert sorted(seeds.argmax(axis=1)) == list(range(6))
    assert all((points == row).all(axis=1).any() for row in seeds)
    np.testing.assert_array_equal(seeds, starts.draw_seeds(points, 6, masses, seeded()))


def test_seeds_of_mass_zero_are_never_drawn():
    points = np.repeat(np.arange(8.0), 5)[:, None] * [1.0, 2.0]
    masses = np.where(points[:, 0] < 4, 0.0, 1.0)
    for seed in range(20):
        assert (starts.draw_seeds(points, 3, masses, seeded(seed))[:, 0] >= 4).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_k_means_of_many_rows_is_the_best_of_pivots_and_seeds(weighted, monkeypatch):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((400, 5))
    masses = rng.uniform(0.5, 2.0, 400) if weighted else None
    monkeypatch.setattr(starts, "MANY_ENTRIES", 2000)
    single = points.astype(np.float32)
    centers = [single[find_pivots(single, 5)], starts.draw_seeds(single, 5, masses, seeded())]
    fits = [KMeans(5, init=one, n_init=1).fit(single, sample_weight=masses) for one in centers]
    assert fits[0].inertia_ != fits[1].inertia_
    best = min(fits, key=lambda model: model.inertia_)
    np.testing.assert_array_equal(starts.k_means(points, 5, masses, seeded()), best.labels_)
    np.testing.assert_array_equal(starts.k_means(points, 5, masses, seeded(), 1), fits[0].labels_)


@pytest.mark.parametrize("weighted", [False, True])
def test_k_means_of_tensors_is_the_best_of_pivots_and_seeds(weighted, monkeypatch):
    torch = pytest.importorskip("torch")
    from afcm.fitting import torch_k_means

    rng = np.random.default_rng(0)
    points = rng.standard_normal((400, 5))
    masses = rng.uniform(0.5, 2.0, 400) if weighted else None
    tensor, weights = torch.as_tensor(points), None if masses is None else torch.as_tensor(masses)
    monkeypatch.setattr(torch_k_means, "HOST_KMEANS", 0)
    monkeypatch.setattr(torch_k_means, "BLOCK_ROWS", 150)
    monkeypatch.setattr(torch_k_means, "TOLERANCE", 0.0)
    seeds = starts.choose_seeds(tensor, 5, weights, seeded(), 5)
    fits = [KMeans(5, init=one.numpy(), n_init=1, tol=0.0).fit(points, sample_weight=masses) for one in seeds]
    best = min(fits, key=lambda model: model.inertia_)
    np.testing.assert_array_equal(starts.k_means(tensor, 5, weights, seeded()), best.labels_)


def test_a_cluster_that_loses_its_rows_keeps_its_center():
    torch = pytest.importorskip("torch")
    from afcm.fitting import torch_k_means

    points = torch.tensor([[0.0], [1.0], [10.0], [11.0]], dtype=torch.float64)
    far = torch.tensor([[0.0], [10.0], [500.0]], dtype=torch.float64)
    np.testing.assert_array_equal(torch_k_means.k_means(points, None, [far]), [0, 0, 1, 1])


def test_pivots_of_tensors_are_those_of_a_decomposition():
    torch = pytest.importorskip("torch")
    points = np.random.default_rng(0).standard_normal((300, 6))
    np.testing.assert_allclose(starts.pivot_rows(torch.as_tensor(points), 6), starts.pivot_rows(points, 6))
    same = torch.ones((5, 2), dtype=torch.float64)  # one direction only
    assert torch.isfinite(starts.pivot_rows(same, 2)).all()
