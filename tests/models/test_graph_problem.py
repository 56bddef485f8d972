"""Memberships that a fit keeps: after a walk with their labels, or posteriors of a mixture."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from afcm.graph.affinity import normalize_graph
from afcm.models import graph_problem
from afcm.models.agreement import TIE, keep_labels
from afcm.models.graph_problem import lie_on_sphere, measure_cut


def test_a_label_that_neighbors_outvote_is_left_in_doubt():
    walked = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.2, 0.2, 0.6], [0.5, 0.5, 0.0]])
    own = np.array([[0.9, 0.1, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    found = keep_labels(walked, own)
    np.testing.assert_array_equal(found[[0, 3]], walked[[0, 3]])  # nobody outvotes these
    np.testing.assert_array_equal(found[:3].argmax(axis=1), own[:3].argmax(axis=1))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for row, label, rival in ((1, 0, 1), (2, 1, 2)):
        lacking = walked[row, rival] - walked[row, label]
        share = lacking / (1 + lacking)
        expected = (1 - share) * walked[row] + share * np.eye(3)[label]
        np.testing.assert_allclose(found[row], expected, atol=3 * TIE)
        assert 0 < found[row, label] - found[row, rival] < 3 * TIE  # a tie, and the label is first


def test_the_cut_of_labels_is_its_definition():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((8, 8)), 1)
    weights, memberships = upper + upper.T, rng.dirichlet(np.ones(3), 8)
    labels = memberships.argmax(axis=1)
    expected = 0.0
    for j in range(3):
        inside, volume = weights[np.ix_(labels == j, labels == j)].sum(), weights[labels == j].sum()
        expected += 1 - (inside / volume if volume > 0 else 0)
    found = measure_cut(None, normalize_graph(sp.csr_array(weights)), memberships)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_so_many_nodes_are_learned_from(monkeypatch):
    monkeypatch.setattr(graph_problem, "MOST_NODES", 50)
    monkeypatch.setattr(graph_problem, "NODES_PER_CLUSTER", 20)
    np.testing.assert_array_equal(graph_problem.draw_some(50, 2), np.arange(50))
    drawn = graph_problem.draw_some(200, 3)
    assert drawn.size == 60 == np.unique(drawn).size
    assert drawn.max() < 200


def test_points_on_a_sphere_are_noticed():
    points = np.random.default_rng(0).standard_normal((30, 3))
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    assert lie_on_sphere(unit)
    assert lie_on_sphere(250 * unit.astype(np.float32))
    unit[4] *= 1.001
    assert not lie_on_sphere(unit)
    assert not lie_on_sphere(points)
