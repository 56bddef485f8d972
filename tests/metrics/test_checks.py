"""Input that every function of membership matrices accepts or refuses."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import afcm.metrics
from afcm.metrics import (
    adjusted_fuzzy_rand,
    fuzzy_rand,
    fuzzy_silhouette,
    normalized_partition_coefficient,
    partition_coefficient,
    partition_entropy,
    xie_beni,
)

X = np.array([[0.0], [1.0], [5.0], [6.0]])
SOFT = np.array([[0.9, 0.1], [0.75, 0.25], [0.125, 0.875], [0.25, 0.75]])
INDICES = [
    partition_coefficient,
    normalized_partition_coefficient,
    partition_entropy,
    lambda soft: xie_beni(X, soft, [[0.0], [6.0]], m=1.5),
    lambda soft: fuzzy_silhouette(X, soft),
    lambda soft: fuzzy_rand(soft, SOFT[::-1]),
    lambda soft: adjusted_fuzzy_rand(soft, SOFT[::-1]),
]


@pytest.mark.parametrize("index", INDICES)
class TestEveryIndexOfMemberships:
    @pytest.mark.parametrize("container", [list, np.asfortranarray, pd.DataFrame, np.ndarray.tolist])
    def test_takes_any_container_and_leaves_it_alone(self, index, container):
        given, kept = container(SOFT), container(SOFT.copy())
        value = index(given)
        assert type(value) is float
        assert value == pytest.approx(index(SOFT))
        assert np.array_equal(np.asarray(given), np.asarray(kept))

    def test_computes_single_precision_in_double(self, index):
        assert index(SOFT.astype(np.float32)) == pytest.approx(index(SOFT), rel=1e-5)

    def test_forgives_rounding_below_zero(self, index):
        hard = np.eye(2)[[0, 0, 1, 1]]
        slip = np.array([1e-9, -1e-9])
        assert index(hard + slip) == pytest.approx(index(hard), abs=1e-6)

    def test_names_the_row_that_does_not_sum_to_one(self, index):
        short = np.vstack([SOFT[:3], [[0.2, 0.5]]])
        with pytest.raises(ValueError, match=r"must have rows that sum to 1; row 3 sums to 0.7; normalise the rows"):
            index(short)

    @pytest.mark.parametrize("missing", [np.nan, np.inf])
    def test_names_the_entry_that_is_missing(self, index, missing):
        holed = SOFT.copy()
        holed[2, 1] = missing
        with pytest.raises(ValueError, match=rf"must be finite; entry \(2, 1\) is {missing}; drop or impute"):
            index(holed)

    def test_names_the_negative_entry(self, index):
        with pytest.raises(ValueError, match=r"must be nonnegative; entry \(0, 1\) is -0.5; pass memberships"):
            index([[1.5, -0.5], *SOFT[1:]])

    @pytest.mark.parametrize("bad", [[["a", "b"]], csr_array(SOFT), [[1.0], [0.5, 0.5]], [[pd.NA, 1]]])
    def test_refuses_what_is_not_a_table_of_numbers(self, index, bad):
        with pytest.raises(ValueError, match=r"(memberships|first) must be a dense array of numbers; got "):
            index(bad)

    @pytest.mark.parametrize("shape", [(0, 2), (4, 0)])
    def test_refuses_emptiness(self, index, shape):
        with pytest.raises(ValueError, match=rf"must not be empty; got shape \({shape[0]}, {shape[1]}\)"):
            index(np.empty(shape))


@pytest.mark.parametrize("index", [lambda X: xie_beni(X, SOFT, [[0.0], [6.0]]), lambda X: fuzzy_silhouette(X, SOFT)])
def test_samples_are_checked_too(index):
    with pytest.raises(ValueError, match=r"X must be finite; entry \(1, 0\) is nan"):
        index([[0.0], [np.nan], [5.0], [6.0]])
    with pytest.raises(ValueError, match=r"X must have 2 axes; got shape \(4,\)"):
        index(X.ravel())


def test_what_is_public_is_documented_with_an_example():
    for name in afcm.metrics.__all__:
        assert ">>>" in getattr(afcm.metrics, name).__doc__
