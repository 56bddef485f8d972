"""Rand indices of two soft partitions, against their definition and their hard limit."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, rand_score

from afcm.metrics import adjusted_fuzzy_rand, fuzzy_rand
from tests.metrics.strategies import for_all, labelling_pairs, memberships, one_hot, seeds, soft_pairs

BOTH = pytest.mark.parametrize("index", [fuzzy_rand, adjusted_fuzzy_rand])


def bonds(soft):
    products = soft @ soft.T
    return products * products.sum() / (products**2).sum()


def squared_distance(first, second):
    return ((bonds(first) - bonds(second)) ** 2).sum()


def published_frobenius_rand(first, second):
    """Agreement of bonds plus agreement of their complements, pairs of a sample with itself taken out."""
    A, B, n = bonds(first), bonds(second), len(first)
    return ((A * B).sum() + ((1 - A) * (1 - B)).sum() - n) / (n * (n - 1))


@for_all(labelling_pairs())
def test_hard_partitions_give_rand_and_hubert_arabie(pair):
    hard = [one_hot(labels) for labels in pair]
    assert fuzzy_rand(*hard) == pytest.approx(rand_score(*pair), abs=1e-9)
    assert adjusted_fuzzy_rand(*hard) == pytest.approx(adjusted_rand_score(*pair), abs=1e-9)


@for_all(soft_pairs(min_samples=2))
def test_fuzzy_rand_is_the_published_formula(pair):
    assert fuzzy_rand(*pair) == pytest.approx(published_frobenius_rand(*pair), abs=1e-9)


@for_all(soft_pairs(min_samples=2, max_samples=5))
def test_adjusted_index_compares_with_the_mean_over_all_orders(pair):
    first, second = pair
    assume(first.shape[1] > 1 or second.shape[1] > 1)
    shuffled = [squared_distance(first, second[list(order)]) for order in permutations(range(len(second)))]
    assume(np.mean(shuffled) > 1e-9)
    expected = 1 - squared_distance(first, second) / np.mean(shuffled)
    assert adjusted_fuzzy_rand(first, second) == pytest.approx(expected, abs=1e-6)


@BOTH
@for_all(soft=memberships, seed=seeds)
def test_a_renamed_soft_partition_is_still_the_same(index, soft, seed):
    columns = np.random.default_rng(seed).permutation(soft.shape[1])
    assert index(soft, soft[:, columns]) == 1
    assert index(soft, np.hstack([soft, np.zeros((len(soft), 2))])) == 1


@BOTH
@for_all(pair=soft_pairs(), seed=seeds)
def test_is_symmetric_and_forgets_names_and_order(index, pair, seed):
    first, second = pair
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(first)), rng.permutation(first.shape[1])
    assert index(second[rows], first[rows][:, columns]) == pytest.approx(index(first, second), abs=1e-6)


@for_all(soft_pairs(min_samples=2))
def test_range(pair):
    n_samples = len(pair[0])
    assert -1 / (n_samples - 1) - 1e-9 <= fuzzy_rand(*pair) <= 1
    assert adjusted_fuzzy_rand(*pair) <= 1


def test_fuzzy_rand_may_be_negative_as_documented():
    assert -1 <= fuzzy_rand([[1, 0], [0.9, 0.1]], [[0.25, 0.25, 0.25, 0.25, 0], [0, 0, 0, 0, 1]]) < -0.2


@BOTH
def test_a_softened_partition_is_not_the_hard_one(index):
    hard = one_hot([0, 0, 0, 1, 1, 1])
    values = [index(hard, (1 - softness) * hard + softness / 2) for softness in (0.0, 0.2, 0.5, 0.8)]
    assert values[0] == 1
    assert all(np.diff(values) < -0.01)


@BOTH
def test_only_the_scale_of_bonds_is_forgotten(index):
    uniform, single = np.full((6, 3), 1 / 3), np.ones((6, 1))
    assert index(uniform, single) == 1
    soft = np.random.default_rng(0).dirichlet([1, 1], 9)
    assert index(soft, np.hstack([soft, soft]) / 2) == pytest.approx(1)


def test_rounding_errors_of_uniform_memberships_are_not_structure():
    noise = np.random.default_rng(0).uniform(-2e-16, 2e-16, (2, 30, 3))
    assert adjusted_fuzzy_rand(*(1 / 3 + noise)) == 1


def test_uniform_memberships_tell_nothing_about_clusters():
    clusters = one_hot([0, 0, 0, 1, 1, 1])
    assert adjusted_fuzzy_rand(clusters, np.full((6, 3), 1 / 3)) == pytest.approx(0)


@pytest.mark.parametrize("n_samples", [1, 2, 7, 50])
@pytest.mark.parametrize("partition", [np.eye, lambda n: np.ones((n, 1)), lambda n: np.full((n, 7), 1 / 7)])
@BOTH
def test_partitions_that_no_shuffle_changes_agree_with_themselves(index, n_samples, partition):
    assert index(partition(n_samples), partition(n_samples)[:, ::-1]) == 1


@for_all(st.sampled_from([1e-3, 1e-5]), seeds)
def test_almost_uniform_memberships_keep_their_digits(size, seed):
    """Structure added to 1/c in balance has, to first order, an index that its size does not change."""
    rng = np.random.default_rng(seed)
    first, second = (part - part.mean(axis=0) for part in rng.dirichlet([1, 1, 1], (2, 20)))
    larger = adjusted_fuzzy_rand(1 / 3 + 1e-2 * first, 1 / 3 + 1e-2 * second)
    assert adjusted_fuzzy_rand(1 / 3 + size * first, 1 / 3 + size * second) == pytest.approx(larger, abs=1e-2)


def test_cost_is_linear_in_the_number_of_samples():
    rng = np.random.default_rng(0)
    first, second = rng.dirichlet([1, 1, 1], 200_000), rng.dirichlet([1, 1], 200_000)
    assert abs(adjusted_fuzzy_rand(first, second)) < 1e-3  # 200 000² pairs would need 320 GB


@BOTH
def test_names_the_partition_at_fault(index):
    with pytest.raises(ValueError, match=r"second must have rows that sum to 1; row 1 sums to 0.7; normalise"):
        index(np.eye(2), [[1, 0], [0.2, 0.5]])
    with pytest.raises(ValueError, match=r"first must have 2 axes; got shape \(2,\); put samples in rows"):
        index([0, 1], np.eye(2))
    with pytest.raises(ValueError, match=r"second .* sample of first; got 3 against 2"):
        index(np.eye(2), np.eye(3))
