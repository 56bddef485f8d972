"""Agreement of labels from several graphs, against counting by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from afcm.graph.affinity import normalize_graph
from afcm.graph.diffusion import diffuse
from afcm.models import agreement
from afcm.models.agreement import (
    LEAST_RESTART,
    MOST_RESTART,
    count_common,
    find_restart,
    match_clusters,
    measure_agreement,
    overlap_matched,
    spread_votes,
    stay_probability,
    watch_walk,
)
from tests.graph.graphs import random_weights

RNG = np.random.default_rng(0)
LABELS = RNG.integers(4, size=60)
VIEWS = [np.where(RNG.random(60) < 0.7, (LABELS + shift) % 4, RNG.integers(4, size=60)) for shift in (0, 1, 3)]
MASSES = RNG.integers(1, 4, size=60).astype(float)


def best_renaming(labels, view, masses):
    """The renaming of a view's clusters that keeps the most mass where it was, by trying all."""
    return max(permutations(range(4)), key=lambda names: masses[np.array(names)[view] == labels].sum())


def test_agreement_is_what_counting_tells():
    found = measure_agreement(LABELS, VIEWS, 4, MASSES)
    renamed = [np.array(best_renaming(LABELS, view, MASSES))[view] for view in VIEWS]
    for i in range(60):
        for j in range(4):
            assert found.votes[i, j] == pytest.approx(np.mean([view[i] == j for view in renamed]))
        assert found.of_nodes[i] == pytest.approx(np.mean([view[i] == LABELS[i] for view in renamed]))
    for j in range(4):
        inside = LABELS == j  # noqa: SIM300
        parts = [MASSES[inside & (v == j)].sum() / MASSES[inside | (v == j)].sum() for v in renamed]
        assert found.of_clusters[j] == pytest.approx(np.mean(parts))
    assert 0.5 < found.of_nodes.mean() < 0.95


def test_names_of_clusters_do_not_matter():
    swapped = [np.array([2, 0, 3, 1])[view] for view in VIEWS]
    for found, other in zip(measure_agreement(LABELS, VIEWS, 4), measure_agreement(LABELS, swapped, 4), strict=True):
        np.testing.assert_allclose(found, other)


def test_a_mass_counts_as_so_many_nodes():
    rows = np.repeat(np.arange(60), MASSES.astype(int))
    weighed = measure_agreement(LABELS, VIEWS, 4, MASSES)
    repeated = measure_agreement(LABELS[rows], [view[rows] for view in VIEWS], 4)
    np.testing.assert_allclose(weighed.of_clusters, repeated.of_clusters)
    np.testing.assert_allclose(weighed.votes[rows], repeated.votes)


def test_the_same_labels_agree_wholly_and_empty_clusters_do_no_harm():
    found = measure_agreement(LABELS, [LABELS, LABELS], 6)
    np.testing.assert_array_equal(found.votes, np.eye(6)[LABELS])
    np.testing.assert_array_equal(found.of_clusters, 1)


def test_counting_matching_and_overlap_by_hand():
    common = count_common(np.array([0, 0, 1, 2]), np.array([1, 1, 0, 0]), 3)
    np.testing.assert_array_equal(common, [[0, 2, 0], [1, 0, 0], [1, 0, 0]])
    matched = match_clusters(common)
    assert matched[0] == 1
    assert sorted(matched) == [0, 1, 2]
    lost = 2 if matched[1] == 0 else 1
    overlap = overlap_matched(common, matched)
    assert (overlap[0], overlap[3 - lost], overlap[lost]) == (1, 0.5, 0)


@pytest.fixture
def graph():
    return normalize_graph(random_weights(np.random.default_rng(1), 60), MASSES)


def walk_matrix(graph):
    """``P = D⁻¹ W M`` from S."""
    roots = np.sqrt(graph.degrees * graph.masses)
    return graph.affinity.toarray() * roots / roots[:, None]


def test_a_watched_walk_is_powers_of_its_matrix(graph):
    own, P = np.eye(4)[LABELS], walk_matrix(graph)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    seen = watch_walk(graph, own, MASSES, n_steps=5)
    for t, value in enumerate(seen):
        stayed = (np.linalg.matrix_power(P, t) @ own)[np.arange(60), LABELS]
        assert value == pytest.approx(np.average(stayed, weights=MASSES), rel=1e-12)
    assert len(seen) == 6
    assert watch_walk(graph, own, n_steps=1)[1] == pytest.approx(np.mean((P @ own)[np.arange(60), LABELS]))


@pytest.mark.parametrize("restart", [0.05, 0.3, 0.95])
def test_the_probability_to_stay_is_that_of_the_whole_series(graph, restart):
    own, P = np.eye(4)[LABELS], walk_matrix(graph)
    whole = restart * np.linalg.solve(np.eye(60) - (1 - restart) * P, own)
    stay = stay_probability(watch_walk(graph, own), restart)
    assert stay == pytest.approx(whole[np.arange(60), LABELS].mean(), abs=1e-3)
    steps = int(np.ceil(np.log(1e-3) / np.log1p(-restart)))
    same = stay_probability(watch_walk(graph, own, n_steps=steps), restart)
    assert same == pytest.approx(diffuse(graph, own, restart)[np.arange(60), LABELS].mean(), rel=1e-5)


def test_the_walk_is_as_long_as_the_views_doubt(graph):
    seen = watch_walk(graph, np.eye(4)[LABELS])
    for restart in (0.06, 0.2, 0.7):
        assert find_restart(seen, stay_probability(seen, restart)) == pytest.approx(restart, rel=1e-6)
    assert find_restart(seen, 1.0) == MOST_RESTART
    assert find_restart(seen, 0.0) == LEAST_RESTART


def test_spread_votes_walk_with_that_restart(graph):
    found = measure_agreement(LABELS, VIEWS, 4, MASSES)
    spread = spread_votes(graph, LABELS, found.votes, MASSES)
    target = np.average(found.of_nodes, weights=MASSES)
    restart = find_restart(watch_walk(graph, np.eye(4)[LABELS], MASSES), target)
    assert LEAST_RESTART < restart < MOST_RESTART
    np.testing.assert_allclose(spread, diffuse(graph, found.votes, restart), rtol=1e-12)
    np.testing.assert_allclose(spread.sum(axis=1), 1)
    assert agreement.average(found.of_nodes, None) == pytest.approx(found.of_nodes.mean())
