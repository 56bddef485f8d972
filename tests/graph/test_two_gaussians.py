"""A mixture is a second witness of two groups, and not of a cloud, a ring, three groups, or another cut."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_circles

from afcm import AFCM, select_n_clusters
from afcm.graph import counting
from afcm.graph.counting import DOUBTFUL, Valley
from afcm.graph.two_gaussians import FEWEST_PER_COLUMN, see_two_groups
from afcm.tables import TableScaler
from tests.graph.test_counting import cliques
from tests.tables.customers import make_customers


def groups(distance, n=150, d=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((2 * n, d))
    X[n:, 0] += distance
    return X, np.arange(n), np.arange(n, 2 * n)


def test_two_groups_are_seen():
    X, first, second = groups(5)
    assert see_two_groups(X, first, second)
    assert see_two_groups(X, second, first)


@pytest.mark.parametrize("change", [lambda X: 1e-7 * X, lambda X: 1e6 * X + 3, lambda X: X @ np.diag([1, 1e3, 1e-3])])
def test_units_do_not_matter(change):
    X, first, second = groups(5)
    assert see_two_groups(change(X), first, second)
    X, first, second = groups(0)
    assert not see_two_groups(change(X), first, second)


def test_the_other_samples_have_no_say():
    X, first, second = groups(5)
    far = np.vstack([np.full((50, 3), 1e3), X])
    assert see_two_groups(far, first + 50, second + 50)


def test_one_cloud_is_not_two():
    for seed in range(5):
        random = np.random.default_rng(seed)
        for X in (random.random((400, 2)), random.standard_normal((400, 2))):
            order = np.argsort(X[:, 0])
            assert not see_two_groups(X, order[:200], order[200:])


def test_two_groups_cut_elsewhere_are_not_these():
    X, _, _ = groups(5)
    order = np.argsort(X[:, 1])
    assert not see_two_groups(X, order[:150], order[150:])


def test_what_needs_more_than_two_gaussians_is_not_two_groups():
    ring, _ = make_circles((400, 0), noise=0.02, random_state=0)
    order = np.argsort(ring[:, 0])
    assert not see_two_groups(ring, order[:200], order[200:])
    X, first, _ = groups(5)
    three = np.vstack([X, X[:150] + np.array([12.0, 0.0, 0.0])])
    assert not see_two_groups(three, first, np.arange(150, 450))


def test_too_few_samples_and_sparse_ones_are_not_judged():
    n = FEWEST_PER_COLUMN * 5 // 2
    X, first, second = groups(8, n)
    assert see_two_groups(X, first, second)
    assert not see_two_groups(X, first[1:], second)
    assert not see_two_groups(sp.csr_array(X), first, second)


def test_of_many_samples_some_are_looked_at():
    X, first, second = groups(5, 4000)
    assert see_two_groups(X, first, second)


@pytest.mark.parametrize(("word", "n_parts"), [(True, 2), (False, 1)])
def test_a_witness_is_asked_where_a_valley_is_nearly_deep_enough(word, n_parts):
    weights, asked = cliques([9, 9], 6.0), []
    (valley,) = counting.split_at_valleys(weights, None, 5).within
    assert DOUBTFUL < valley.strength <= 1
    found = counting.split_at_valleys(weights, None, 5, witness=lambda *sides: asked.append(sides) or word)
    assert sorted(sorted(side.tolist()) for side in asked[0]) == [list(range(9)), list(range(9, 18))]
    assert found.count == n_parts
    assert [between.witnessed for between in found.between] == [True] * (n_parts - 1)


def test_a_witness_is_not_asked_where_the_graph_is_clear():
    def fail(*_):
        raise AssertionError

    assert counting.split_at_valleys(cliques([9, 9], 0.01), None, 5, witness=fail).count == 2
    assert counting.split_at_valleys(cliques([9, 9], 8.0), None, 5, witness=fail).count == 1


def test_what_was_witnessed_may_as_well_be_one():
    shallow = Valley(2.0, 2.5, (1.0, 1.0), witnessed=True)
    assert shallow.splits
    assert not shallow.is_deep
    assert counting.Parts(np.array([0, 1]), (shallow,), ()).range == (1, 2)


def test_groups_of_customers_are_counted_and_the_reason_names_the_witness():
    table, _ = make_customers(10)
    X = TableScaler().fit_transform(table)
    assert AFCM("auto", random_state=0).fit(X).n_clusters_ == 3
    reason = select_n_clusters(X, range(1, 5), random_state=0).reason
    assert reason.endswith("a mixture of Gaussians sees the same groups on its two sides")
