"""Density in AFCM: stray samples do not bend its clusters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from afcm import AFCM
from afcm.metrics import adjusted_rand
from afcm.neighbors import find_neighbors


def noisy_moons(share, seed=0):
    X, y = make_moons(600, noise=0.05, random_state=seed)
    noise = np.random.default_rng(seed).uniform(X.min(axis=0) - 0.4, X.max(axis=0) + 0.4, (int(share * 600), 2))
    return np.concatenate([X, noise]), y


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_haze_of_stray_samples_does_not_bend_the_clusters(share):
    X, y = noisy_moons(share)
    found = AFCM(2, random_state=0).fit(X)
    assert adjusted_rand(y, found.labels_[:600]) > 0.98
    assert adjusted_rand(y, AFCM(2, density_strength=0, random_state=0).fit(X).labels_[:600]) < 0.5
    assert set(found.labels_) == {0, 1}


def test_one_far_sample_changes_no_label_but_its_own():
    X, _ = noisy_moons(0.1)
    before = AFCM(2, random_state=0).fit(X).labels_
    after = AFCM(2, random_state=0).fit(np.concatenate([X, [[50.0, -70.0]]])).labels_
    assert adjusted_rand(before, after[:-1]) > 0.99


def test_the_embedding_is_orthonormal_over_the_masses():
    X, _ = noisy_moons(0.1)
    prepared = AFCM(2).prepare(X)
    Z = AFCM(2, random_state=0).fit(prepared).embedding_
    np.testing.assert_allclose(Z.T @ (prepared.masses[:, None] * Z), np.eye(2), atol=1e-9)
    assert prepared.n_samples == X.shape[0]


def test_weights_and_copies_are_the_same():
    X, _ = noisy_moons(0.1)
    counts = np.random.default_rng(1).integers(1, 4, X.shape[0])
    copies, weighted = AFCM(2, random_state=0), AFCM(2, random_state=0)
    copies.fit(np.repeat(X, counts, axis=0))
    weighted.fit(X, sample_weight=counts)
    np.testing.assert_allclose(np.repeat(weighted.memberships_, counts, axis=0), copies.memberships_, atol=1e-8)


def test_strength_is_off_in_paper_mode_and_with_other_kernels():
    X, _ = noisy_moons(0.1)
    assert AFCM.paper(2).prepare(X).density is None
    assert AFCM(2, kernel="local").prepare(X).density is None
    assert AFCM(2, kernel="local", density_strength=4).prepare(X).density is not None
    strong, weak = (AFCM(2, density_strength=p).prepare(X).density for p in (8.0, 2.0))
    assert strong.min() < 1e-2 * weak.min()
    np.testing.assert_array_equal(AFCM(2).prepare(X).density, strong)
    assert AFCM(2, density_strength=0).prepare(X).density is None
    with pytest.raises(ValueError, match="density_strength=-1"):
        AFCM(2, density_strength=-1).fit(X)


def test_new_samples_are_placed_by_the_balanced_similarities():
    X, _ = noisy_moons(0.25)
    model = AFCM(2, random_state=0).fit(X)
    prepared = AFCM(2, random_state=0).prepare(X)
    moved = X[:5] + 1e-3
    found = find_neighbors(X, prepared.similarity.k + 1, moved)
    squared, near = found.squared, found.indices
    closeness = squared[:, -1:] - squared[:, :-1]
    counts = (prepared.masses * prepared.scale)[near[:, :-1]]
    shares = closeness * counts / (closeness * counts).sum(axis=1, keepdims=True)
    placed = model._fitted.similarity.place(moved)
    dense = model._fitted.extension.shares(placed.weights).toarray()
    np.testing.assert_allclose(np.take_along_axis(dense, near[:, :-1], axis=1), shares, atol=1e-12)


def test_a_sparse_cluster_keeps_its_samples():
    X, y = make_blobs(400, 2, centers=[[0, 0], [60, 0]], cluster_std=[0.5, 5.0], random_state=0)
    haze = np.random.default_rng(0).uniform([-10, -30], [80, 30], (40, 2))
    assert adjusted_rand(y, AFCM(2, random_state=0).fit_predict(np.concatenate([X, haze]))[:400]) == 1
