"""Cuts of labels, by compiled loops and by products, are sums over pairs of nodes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from afcm.graph import cuts
from afcm.graph.affinity import normalize_graph
from tests.graph.graphs import random_weights


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_links_and_cut_are_sums_over_pairs(monkeypatch, compiled, weighted):
    if compiled:
        pytest.importorskip("numba")
        monkeypatch.setattr(cuts, "cut_and_links", lambda *_: pytest.fail("a compiled loop does it"))
    monkeypatch.setattr(cuts, "WORTH_COMPILING", 0 if compiled else np.inf)
    rng = np.random.default_rng(0)
    dense = random_weights(rng, 30).toarray()
    dense[:, 4] = dense[4] = 0  # an isolated node
    labels = rng.integers(3, size=30)
    masses = rng.uniform(0.1, 2.0, 30) if weighted else None
    graph = normalize_graph(sp.csr_array(dense), masses)
    counted = dense * (np.outer(masses, masses) if weighted else 1.0)
    expected = np.array([[counted[np.ix_(labels == a, labels == b)].sum() for b in range(4)] for a in range(4)])
    cut, links = cuts.cut_labels(graph, labels, 4)  # the last cluster is empty
    np.testing.assert_allclose(links, expected, atol=1e-12)
    inside, volumes = np.diag(expected)[:3], expected.sum(axis=1)[:3]
    assert cut == pytest.approx((1 - inside / volumes).sum() + 1, abs=1e-12)


def test_very_many_clusters_are_not_a_table_for_each_block(monkeypatch):
    monkeypatch.setattr(cuts, "WORTH_COMPILING", 0)
    monkeypatch.setattr(cuts, "_sum_links", lambda *_: pytest.fail("too many clusters"))
    graph = normalize_graph(random_weights(np.random.default_rng(0), 30))
    assert cuts.cut_labels(graph, np.arange(30) % 3, cuts.MOST_CLUSTERS + 1)[1].shape == (257, 257)
