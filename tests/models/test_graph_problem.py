"""Memberships that a fit keeps: after a walk with their labels, or posteriors of a mixture."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from afcm import AFCM
from afcm.graph.affinity import normalize_graph
from afcm.models import graph_problem
from afcm.models.agreement import TIE, keep_labels
from afcm.models.graph_problem import lie_on_sphere, measure_cut, measure_opinion
from afcm.models.local_mixture import fit_local_mixture, measure_fit


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


@pytest.fixture(scope="module")
def flat():
    """A graph of two flat Gaussians, one above the other, with copies, and the mixture inside them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2)) * [8, 0.9] + np.repeat([[0, 0], [0, 3]], 200, axis=0)
    prepared = AFCM(2).prepare(np.vstack([X, X[:50]]))
    labels = (prepared.points[:, 1] > 1.5).astype(int)
    return prepared, fit_local_mixture(prepared.points, labels, 2, np.zeros(400), share=None)


@pytest.mark.parametrize("cut", [0.05, 0.001, 1e-5, 0.0])
def test_an_opinion_is_its_fit_and_a_fifth_of_the_logarithm_of_its_cut(flat, cut):
    prepared, mixture = flat
    expected = measure_fit(mixture, prepared.points, prepared.nodes.masses) + 0.2 * math.log(max(cut, 0.001))
    assert measure_opinion(prepared, mixture, cut) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "method"), [(1.0, 0.9, "overlap"), (0.9, 1.0, "mixture"), (1.0, 1.0, "mixture")]
)
def test_the_lower_opinion_is_kept_and_the_first_of_equals(monkeypatch, flat, first, second, method):
    answers = iter([first, second])
    monkeypatch.setattr(graph_problem, "measure_opinion", lambda *_: next(answers))
    monkeypatch.setattr(graph_problem, "TOUCHING", -1.0)
    other = (flat[0].points[:, 0] > 0).astype(int)
    monkeypatch.setattr(graph_problem, "find_overlapping", lambda *_: other)
    model = AFCM(2, noise=None, random_state=0).fit(flat[0])
    assert model.membership_method_ == method


def test_nobody_is_asked_where_clusters_do_not_touch(monkeypatch, flat):
    monkeypatch.setattr(graph_problem, "TOUCHING", 1.0)
    monkeypatch.setattr(graph_problem, "find_overlapping", lambda *_: pytest.fail("asked"))
    assert AFCM(2, noise=None, random_state=0).fit(flat[0]).membership_method_ == "mixture"
