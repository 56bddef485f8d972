"""Indices of one soft partition: coefficient, entropy, Xie–Beni, silhouette."""

import tracemalloc
from math import inf, log

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from sklearn.metrics import silhouette_samples, silhouette_score

from afcm.metrics import (
    fuzzy_silhouette,
    normalized_partition_coefficient,
    partition_coefficient,
    partition_entropy,
    xie_beni,
)
from tests.metrics.strategies import fits, for_all, memberships, one_hot, seeds

MEMBERSHIP_INDICES = [partition_coefficient, normalized_partition_coefficient, partition_entropy]


@for_all(memberships)
def test_coefficient_and_entropy_are_their_sums(soft):
    rows = [list(map(float, row)) for row in soft]
    squares = [sum(u * u for u in row) for row in rows]
    entropies = [-sum(u * log(u) for u in row if u > 0) for row in rows]
    assert partition_coefficient(soft) == pytest.approx(sum(squares) / len(rows))
    assert partition_entropy(soft) == pytest.approx(sum(entropies) / len(rows), abs=1e-12)


@pytest.mark.parametrize("n_clusters", [2, 3, 7])
def test_hard_and_uniform_memberships_are_the_two_ends(n_clusters):
    hard, uniform = np.eye(n_clusters), np.full((5, n_clusters), 1 / n_clusters)
    assert partition_coefficient(hard) == normalized_partition_coefficient(hard) == 1
    assert partition_entropy(hard) == 0
    assert partition_coefficient(uniform) == pytest.approx(1 / n_clusters)
    assert normalized_partition_coefficient(uniform) == pytest.approx(0, abs=1e-12)
    assert partition_entropy(uniform) == pytest.approx(log(n_clusters))
    assert partition_entropy(uniform, normalized=True) == pytest.approx(1)


def test_normalized_coefficient_is_linear_between_the_ends():
    halfway = 0.5 * np.eye(3) + 0.5 * np.full((3, 3), 1 / 3)
    assert partition_coefficient(halfway) == pytest.approx(0.5)
    assert normalized_partition_coefficient(halfway) == pytest.approx(0.25)


@pytest.mark.parametrize("normalized", [False, True])
def test_one_cluster_is_hard(normalized):
    assert normalized_partition_coefficient([[1], [1]]) == 1
    assert partition_entropy([[1], [1]], normalized=normalized) == 0


def test_entropy_is_never_negative():
    assert partition_entropy([[1 + 1e-9, 0.0]]) == 0


@pytest.mark.parametrize("index", MEMBERSHIP_INDICES)
@for_all(soft=memberships, seed=seeds)
def test_whole_weights_repeat_samples(index, soft, seed):
    counts = np.random.default_rng(seed).integers(0, 4, len(soft))
    assume(counts.any())
    assert index(soft, sample_weight=counts) == pytest.approx(index(np.repeat(soft, counts, axis=0)), abs=1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"sample_weight .* got 2 against 3"),
        ([1, -2, 1], r"sample_weight must be nonnegative; entry 1 is -2; set unwanted samples to 0"),
        ([0, 0, 0], r"sample_weight must have a positive sum"),
        ([1, np.nan, 1], r"sample_weight must be finite; entry 1 is nan"),
        (np.ones((3, 1)), r"sample_weight must have 1 axes; got shape \(3, 1\); flatten it"),
    ],
)
@pytest.mark.parametrize("index", MEMBERSHIP_INDICES)
def test_bad_weights_are_named(index, weights, message):
    with pytest.raises(ValueError, match=message):
        index(np.eye(3), sample_weight=weights)


@for_all(fits(), st.sampled_from([1.0, 1.3, 2.0, 3.0]))
def test_xie_beni_is_its_double_sum(fit, m):
    X, soft, centers = fit
    compact = sum(
        u**m * sum((x - v) ** 2) for x, row in zip(X, soft, strict=True) for u, v in zip(row, centers, strict=True)
    )
    apart = min(sum((v - w) ** 2) for k, v in enumerate(centers) for w in centers[:k])
    assert xie_beni(X, soft, centers, m=m) == pytest.approx(compact / len(X) / apart)


@for_all(fits())
def test_xie_beni_squares_memberships_unless_told(fit):
    assert xie_beni(*fit) == xie_beni(*fit, m=2)


@for_all(fits(), seeds, st.sampled_from([0.01, 1.0, 30.0]))
def test_xie_beni_and_silhouette_forget_names_order_place_and_scale(fit, seed, scale):
    X, soft, centers = fit
    assume(len(set(soft.argmax(axis=1))) > 1)
    rng = np.random.default_rng(seed)
    rows, columns, shift = rng.permutation(len(X)), rng.permutation(len(centers)), rng.normal(size=X.shape[1])
    moved, renamed = scale * X[rows] + shift, soft[rows][:, columns]
    assert xie_beni(moved, renamed, scale * centers[columns] + shift) == pytest.approx(xie_beni(*fit))
    assert fuzzy_silhouette(moved, renamed) == pytest.approx(fuzzy_silhouette(X, soft), abs=1e-9)


@pytest.mark.parametrize("X", [[[0.0], [1.0]], [[0.0], [0.0]]])
def test_centres_that_coincide_are_infinitely_bad(X):
    assert xie_beni(X, np.eye(2), [[0.0], [0.0]]) == inf


@pytest.mark.parametrize("m", [0.5, inf, float("nan")])
def test_xie_beni_refuses_exponents_outside_the_model(m):
    with pytest.raises(ValueError, match=rf"m must be finite and at least 1; got {m}; pass the fuzzifier"):
        xie_beni(np.eye(2), np.eye(2), np.eye(2), m=m)


def test_xie_beni_refuses_what_does_not_fit_together():
    with pytest.raises(ValueError, match="centers must have at least 2 rows; got 1"):
        xie_beni([[0.0], [1.0]], [[1], [1]], [[0.5]])
    with pytest.raises(ValueError, match=r"centers must have shape \(2, 1\).* got \(1, 2\)"):
        xie_beni([[0.0], [1.0]], np.eye(2), [[0.0, 1.0]])
    with pytest.raises(ValueError, match=r"memberships .* got 3 against 2"):
        xie_beni([[0.0], [1.0]], np.eye(3), [[0.0], [1.0], [2.0]])


@for_all(fits())
def test_hard_memberships_give_the_mean_silhouette(fit):
    X, soft, _ = fit
    labels = soft.argmax(axis=1)
    assume(1 < len(set(labels)) < len(X))
    hard = one_hot(labels, soft.shape[1] + 1)  # with a column nobody wins
    assert fuzzy_silhouette(X, hard) == pytest.approx(silhouette_score(X, labels), abs=1e-9)


@for_all(fits(), st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_silhouettes_are_weighted_by_the_lead_of_the_winner(fit, alpha):
    X, soft, _ = fit
    labels = soft.argmax(axis=1)
    assume(1 < len(set(labels)) < len(X))
    leads = [(best - second) ** alpha for *_, second, best in map(sorted, soft.tolist())]
    expected = np.dot(leads, silhouette_samples(X, labels)) / sum(leads)
    assert fuzzy_silhouette(X, soft, alpha=alpha) == pytest.approx(expected, abs=1e-9)


@for_all(fits(), st.integers(1, 13))
def test_tiles_do_not_change_the_silhouette(fit, block_size):
    X, soft, _ = fit
    assume(len(set(soft.argmax(axis=1))) > 1)
    assert fuzzy_silhouette(X, soft, block_size=block_size) == pytest.approx(fuzzy_silhouette(X, soft))


def test_silhouette_memory_is_far_from_a_square_matrix():
    n_samples = 2000
    rng = np.random.default_rng(0)
    X, soft = rng.normal(size=(n_samples, 2)), rng.dirichlet([1, 1], n_samples)
    tracemalloc.start()
    fuzzy_silhouette(X, soft, block_size=64)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n_samples * n_samples / 50


def test_samples_alone_in_their_cluster_have_silhouette_zero():
    X = [[0.0], [1.0], [10.0]]
    near, far = 1 - 1 / 10, 1 - 1 / 9
    assert fuzzy_silhouette(X, one_hot([0, 0, 1])) == pytest.approx((near + far + 0) / 3)


def test_clusters_on_one_spot_have_silhouette_zero():
    assert fuzzy_silhouette(np.ones((4, 2)), one_hot([0, 0, 1, 1])) == 0


def test_silhouette_of_ties_is_zero():
    assert fuzzy_silhouette([[0.0], [0.1], [9.0]], [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0.5, 0.5]]) == 0


def test_one_winner_has_no_silhouette():
    with pytest.raises(
        ValueError, match=r"favour at least 2 clusters; all 3 rows are largest in column 1; .*fit again"
    ):
        fuzzy_silhouette(np.eye(3), [[0.4, 0.6], [0.1, 0.9], [0.2, 0.8]])
    with pytest.raises(ValueError, match="favour at least 2 clusters"):
        fuzzy_silhouette(np.eye(3), np.ones((3, 1)))


def test_silhouette_refuses_bad_parameters():
    with pytest.raises(ValueError, match="alpha must be finite and at least 0; got -1; use 1"):
        fuzzy_silhouette(np.eye(2), np.eye(2), alpha=-1)
    with pytest.raises(ValueError, match="block_size must be finite and at least 1; got 0; use 1024"):
        fuzzy_silhouette(np.eye(2), np.eye(2), block_size=0)
    with pytest.raises(ValueError, match=r"memberships .* got 2 against 3"):
        fuzzy_silhouette(np.eye(3), np.eye(2))
