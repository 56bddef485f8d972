"""Criteria against the count of the graph: who agrees, which answer competes, and which is recommended."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import minmax_scale

from afcm import select_n_clusters
from afcm.graph.counting import Parts, Valley
from afcm.selection.choosing import CRITERIA
from afcm.selection.weighing import find_rival, measure_margin, weigh_criteria


def pieces(count, depth=3.0, needed=2.5):
    return Parts(np.arange(count), (Valley(depth, needed, (5, 5)),) * (count - 1), ())


def votes(*numbers):
    return dict(zip(CRITERIA, numbers, strict=True))


def weigh(count, *numbers, depth=3.0):
    return weigh_criteria(count, "why", pieces(count, depth), votes(*numbers), 12)


def test_agreement_is_counted():
    found = weigh(3, 3, 3, 3, 3, 12, 4)
    assert found == (3, "why", None, "4 of 6 criteria say 3")
    assert weigh(3, 2, 3, 4, 5, 12, 7).agreement == "1 of 6 criteria says 3"
    assert weigh(3, 2, 6, 4, 5, 12, 7).agreement == "none of 6 criteria say 3"


def test_half_of_the_criteria_compete():
    found = weigh(4, 5, 2, 4, 4, 5, 5)
    assert (found.n_clusters, found.alternative) == (4, 5)
    expected = "two answers compete, 4 and 5: 2 of 6 criteria say 4, 3 of 6 criteria say 5 (eigengap, plain_bic, "
    assert found.agreement == f"{expected}mixture_bic)"


def test_as_many_for_the_graph_leave_nothing_to_compete():
    assert weigh(4, 4, 4, 4, 5, 5, 5).alternative is None


def test_a_majority_outweighs_a_shallow_valley():
    found = weigh(2, 3, 3, 3, 3, 9, 4)
    assert (found.n_clusters, found.alternative) == (3, 2)
    who = "4 of 6 criteria say 3 (eigengap, stability, fuzzy_silhouette, xie_beni)"
    assert found.reason == f"{who}, and they outweigh the count of the graph: why"
    assert found.agreement == "two answers compete, 3 and 2: none of 6 criteria say 2"


@pytest.mark.parametrize(
    ("count", "numbers", "depth"),
    [
        (2, (3, 3, 3, 3, 9, 4), 4.0),  # a deep valley
        (2, (9, 8, 3, 3, 3, 3), 3.0),  # no criterion of the graph
        (1, (3, 7, 3, 3, 3, 4), 3.0),  # no clusters: most criteria cannot say so, and those of the graph differ
        (2, (3, 3, 3, 7, 9, 4), 3.0),  # no majority
    ],
)
def test_otherwise_the_graph_is_followed_and_the_other_answer_named(count, numbers, depth):
    found = weigh(count, *numbers, depth=depth)
    assert (found.n_clusters, found.reason, found.alternative) == (count, "why", 3)


def test_both_criteria_of_the_graph_outweigh_a_graph_without_pieces():
    found = weigh(1, 3, 3, 3, 3, 9, 4)
    assert (found.n_clusters, found.alternative) == (3, 1)


def test_half_of_the_criteria_are_too_few_against_no_clusters():
    assert weigh(1, 3, 3, 3, 5, 1, 1).alternative is None


def test_the_largest_number_is_no_answer():
    assert weigh(2, 12, 12, 12, 12, 12, 12).alternative is None


def test_the_smaller_of_two_equal_rivals():
    assert find_rival(votes(5, 5, 3, 3, 7, 9)) == (3, ["fuzzy_silhouette", "xie_beni"])
    assert find_rival({}) == (None, [])


def test_the_margin_is_that_of_the_shallowest_valley():
    parts = Parts(np.arange(3), (Valley(9.0, 2.0, (5, 5)), Valley(3.0, 2.25, (5, 5))), ())
    assert measure_margin(parts) == 0.75
    assert measure_margin(pieces(1)) == np.inf


def test_wine_is_three_or_two_answers_compete():
    selection = select_n_clusters(minmax_scale(load_wine().data), random_state=0)
    assert 3 in (selection.n_clusters, selection.alternative)
    assert selection.agreement in str(selection)
    if selection.n_clusters != 3:
        assert "two answers compete" in str(selection)


@pytest.mark.parametrize("seed", range(3))
def test_an_even_cloud_has_no_clusters_whatever_the_criteria_say(seed):
    X = np.random.default_rng(seed).uniform(size=(250, 2))
    assert select_n_clusters(X, range(1, 9), random_state=0).n_clusters == 1
