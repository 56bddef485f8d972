"""Accuracy, mutual information and the adjusted Rand index of hard labellings."""

from collections import Counter
from itertools import combinations, permutations
from math import comb, log, sqrt

import numpy as np
import pandas as pd
import pytest

from afcm.metrics import adjusted_rand, clustering_accuracy, normalized_mutual_info
from tests.metrics.strategies import for_all, labelling_pairs

INDICES = [clustering_accuracy, normalized_mutual_info, adjusted_rand]
AVERAGES = {
    "max": max,
    "min": min,
    "arithmetic": lambda a, b: (a + b) / 2,
    "geometric": lambda a, b: sqrt(a * b),
}


def best_renaming(true, pred):
    """Try all one-to-one renamings of clusters; those left over keep a name that is no class."""
    classes, clusters = sorted(set(true)), sorted(set(pred))
    names = classes + [None] * len(clusters)
    return max(
        sum(dict(zip(clusters, renamed, strict=False))[p] == t for t, p in zip(true, pred, strict=True))
        for renamed in set(permutations(names, len(clusters)))
    ) / len(true)


def entropy(labels):
    return -sum(k / len(labels) * log(k / len(labels)) for k in Counter(labels).values())


def hubert_arabie(true, pred):
    pairs = list(combinations(range(len(true)), 2))
    same_true = sum(true[i] == true[j] for i, j in pairs)
    same_pred = sum(pred[i] == pred[j] for i, j in pairs)
    same_both = sum(true[i] == true[j] and pred[i] == pred[j] for i, j in pairs)
    chance = same_true * same_pred / comb(len(true), 2) if pairs else 0
    top = (same_true + same_pred) / 2
    return 1.0 if top == chance else (same_both - chance) / (top - chance)


@for_all(labelling_pairs(max_samples=8))
def test_accuracy_is_that_of_the_best_renaming(pair):
    assert clustering_accuracy(*pair) == pytest.approx(best_renaming(*pair))


def test_clusters_left_over_count_as_errors():
    assert clustering_accuracy([0, 0, 0, 0], [0, 0, 1, 2]) == 0.5
    assert clustering_accuracy([0, 0, 1, 2], [0, 0, 0, 0]) == 0.5


@pytest.mark.parametrize("average", AVERAGES)
@for_all(pair=labelling_pairs())
def test_mutual_information_is_shared_entropy_over_the_named_average(average, pair):
    true, pred = pair
    shared = entropy(true) + entropy(pred) - entropy(list(zip(true, pred, strict=True)))
    scale = AVERAGES[average](entropy(true), entropy(pred))
    one_partition = entropy(true) == entropy(pred) == 0  # two single clusters
    expected = shared / scale if scale > 0 else float(one_partition)
    assert normalized_mutual_info(true, pred, average=average) == pytest.approx(expected, abs=1e-9)


@for_all(labelling_pairs())
def test_mutual_information_divides_by_the_larger_entropy_unless_told(pair):
    assert normalized_mutual_info(*pair) == normalized_mutual_info(*pair, average="max")


@for_all(labelling_pairs())
def test_adjusted_rand_counts_pairs_as_hubert_and_arabie(pair):
    assert adjusted_rand(*pair) == pytest.approx(hubert_arabie(*pair), abs=1e-12)


@pytest.mark.parametrize("index", INDICES)
class TestEveryHardIndex:
    @for_all(pair=labelling_pairs())
    def test_forgets_names_types_and_order(self, index, pair):
        true, pred = pair
        renamed = [("a", ("b", 1), 2.5, frozenset())[label] for label in pred]
        assert index(true[::-1], renamed[::-1]) == pytest.approx(index(true, pred))

    @for_all(pair=labelling_pairs())
    def test_is_one_for_the_same_partition(self, index, pair):
        labels = pair[0]
        assert index(labels, [str(-label) for label in labels]) == pytest.approx(1.0)

    @pytest.mark.parametrize("container", [np.array, pd.Series, pd.Categorical, tuple])
    def test_takes_any_container(self, index, container):
        true, pred = list("aabbbc"), [0, 0, 0, 1, 1, 2]
        value = index(container(true), container(pred))
        assert isinstance(value, float)
        assert value == index(true, pred)

    @pytest.mark.parametrize("missing", [float("nan"), None, pd.NA, np.float32("nan")])
    def test_names_the_missing_label(self, index, missing):
        with pytest.raises(ValueError, match=r"labels_pred must not have missing labels; sample 2 is .*drop it"):
            index([0, 1, 1], [0, 1, missing])

    def test_refuses_different_lengths(self, index):
        with pytest.raises(ValueError, match=r"labels_pred .* got 2 against 3; pass the same samples"):
            index([0, 1, 1], [0, 1])

    def test_refuses_no_samples(self, index):
        with pytest.raises(ValueError, match="labels_true must not be empty"):
            index([], [])

    @pytest.mark.parametrize("labels", [np.zeros((2, 1)), [[0], [1]], np.array(3)])
    def test_refuses_tables(self, index, labels):
        with pytest.raises(ValueError, match="labels_pred must be a flat sequence of labels"):
            index([0, 1], labels)


def test_unknown_average_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match=r"average='mean' is unknown; use one of max, arithmetic, geometric, min"):
        normalized_mutual_info([0], [0], average="mean")
