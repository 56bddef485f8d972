"""Samples in the plane: where they lie, how they are coloured, which are in doubt."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from afcm.metrics.ambiguity import AMBIGUOUS, ambiguity
from afcm.plots import AmbiguityDisplay, EmbeddingDisplay
from afcm.plots.colors import cluster_colors, mix_colors, opacity
from afcm.plots.layout import jitter_points, marker_size, place_samples, project_embedding, project_features
from tests.plots.artists import drawn, sorted_rows, texts


@given(st.integers(2, 30), st.integers(1, 5), st.integers(0, 1000))
@settings(max_examples=30)
def test_no_other_plane_shows_more_of_the_spread(n, width, seed):
    random = np.random.default_rng(seed)
    embedding = random.normal(size=(n, width))
    shown = project_embedding(embedding)
    other = (embedding - embedding.mean(axis=0)) @ np.linalg.qr(random.normal(size=(width, min(2, width))))[0]
    assert shown.shape == (n, 2)
    assert (shown**2).sum() >= (other**2).sum() - 1e-9
    assert (shown[:, 0] ** 2).sum() >= (shown[:, 1] ** 2).sum() - 1e-9


def test_other_rows_are_shown_in_the_same_directions():
    embedding = np.random.default_rng(0).normal(size=(20, 4))
    np.testing.assert_allclose(project_embedding(embedding, embedding[3:7]), project_embedding(embedding)[3:7])


def test_an_embedding_is_used_where_there_is_one(graph_model, iris):
    points, _, jitter = place_samples(graph_model)
    np.testing.assert_array_equal(points, project_embedding(graph_model.embedding_))
    assert jitter > 0
    assert place_samples(graph_model, jitter=0.0)[2] == 0
    np.testing.assert_allclose(place_samples(graph_model, iris[:7])[0], points[:7], atol=1e-12)


def test_principal_components_are_used_where_there_is_none(plain_model, iris):
    points, axis_names, jitter = place_samples(plain_model, iris)
    np.testing.assert_allclose(np.abs(points), np.abs(PCA(2).fit_transform(iris)))
    assert axis_names[0] == "principal component 1 (92% of the variance)"
    assert jitter == 0
    assert place_samples(plain_model, iris, 0.1)[2] == 0.1
    with pytest.raises(ValueError, match="jitter=-1 must be at least 0"):
        place_samples(plain_model, iris, -1)
    with pytest.raises(ValueError, match="X=None, but PlainAFCM has no embedding to draw; give the samples as X"):
        place_samples(plain_model)


def test_principal_components_of_sparse_and_of_degenerate_samples(iris, monkeypatch):
    dense = project_features(iris)[0]
    np.testing.assert_allclose(project_features(sp.csr_array(iris))[0], dense)
    monkeypatch.setattr("afcm.plots.layout.DENSE_ENTRIES", 10)
    np.testing.assert_allclose(np.abs(project_features(sp.csr_array(iris))[0]), np.abs(dense), atol=1e-8)
    points, names = project_features(np.ones((4, 1)))
    assert points.tolist() == [[0, 0]] * 4
    assert names == ("principal component 1", "principal component 2")


def test_jitter_is_small_and_repeats():
    points = np.repeat([[0.0, 0], [10, 1]], 500, axis=0)
    moved = jitter_points(points, 0.02)
    np.testing.assert_array_equal(moved, jitter_points(points, 0.02))
    assert (moved - points).std() == pytest.approx(0.2, rel=0.1)
    assert jitter_points(points, 0) is points
    assert np.ptp(jitter_points(np.zeros((5, 2)), 0.1)) > 0


def test_colours_are_mixed_and_paled_by_membership(soft, ax):
    places = np.random.default_rng(1).normal(size=(60, 2))
    EmbeddingDisplay(places, soft).plot(ax)
    wanted = np.column_stack([places, mix_colors(soft, cluster_colors(4)), opacity(soft)])
    np.testing.assert_allclose(drawn(ax), sorted_rows(wanted))
    assert len({group.get_paths()[0].vertices.shape for group in ax.collections}) > 1  # markers differ


def test_numbers_stand_at_the_medians(ax):
    places = np.array([[0, 0], [1, 5], [2, 1], [3, 3], [9, 9], [20, 20]])
    EmbeddingDisplay(places, np.eye(3)[[0, 0, 0, 0, 0, 2]]).plot(ax)
    assert {text.get_text(): tuple(text.xy) for text in ax.texts} == {"0": (2, 3), "2": (20, 20)}
    big, alone = ax.texts
    assert big.get_position() == (0, 0)
    assert alone.get_position() != (0, 0)  # beside its only sample


def test_the_embedding_of_a_model(graph_model, iris, ax):
    display = EmbeddingDisplay.from_estimator(graph_model, ax=ax, jitter=0.0)
    np.testing.assert_allclose(drawn(ax)[:, :2], sorted_rows(display.positions))
    np.testing.assert_array_equal(display.memberships, graph_model.memberships_)
    assert texts(ax) == ["0", "1", "2"]
    assert "jittered" not in ax.get_title()
    assert "150 samples, 3 clusters" in ax.get_title()
    EmbeddingDisplay.from_estimator(graph_model, ax=ax)
    assert "jittered" in ax.get_title()
    fewer = EmbeddingDisplay.from_estimator(graph_model, iris[:10], ax=ax)
    np.testing.assert_allclose(fewer.memberships, graph_model.memberships_[:10])


def test_many_points_are_small_and_stored_as_an_image(ax):
    n = 6000
    EmbeddingDisplay(np.zeros((n, 2)), np.ones((n, 1))).plot(ax)
    assert all(group.get_rasterized() for group in ax.collections)
    assert marker_size(100) > marker_size(1000) > marker_size(10_000) >= marker_size(10**9) > 0


def test_doubt_is_shown_by_the_memberships(graph_model, ax):
    display = AmbiguityDisplay.from_estimator(graph_model, ax=ax)
    doubt = ambiguity(graph_model.memberships_)
    np.testing.assert_array_equal(display.ambiguity, doubt)
    count = int((doubt > AMBIGUOUS).sum())
    assert 0 < count < 20
    assert ax.get_title().startswith(f"{count} of 150 samples ambiguous")


def test_ambiguous_samples_are_ringed_and_larger(ax):
    memberships = np.array([[1.0, 0], [0.8, 0.2], [0.7, 0.3], [0.5, 0.5]])
    places = np.arange(8.0).reshape(4, 2)
    display = AmbiguityDisplay(places, memberships)
    display.plot(ax)
    assert display.ambiguous.tolist() == [False, False, True, True]
    sure, doubtful = ax.collections
    np.testing.assert_array_equal(sure.get_offsets(), places[:2])
    np.testing.assert_array_equal(doubtful.get_offsets(), places[2:])
    np.testing.assert_allclose(doubtful.get_array(), [0.6, 1])
    assert doubtful.get_sizes()[0] > sure.get_sizes()[0]
    assert doubtful.get_linewidths()[0] > 0 == sure.get_linewidths()[0]
    assert (sure.norm.vmin, sure.norm.vmax) == (doubtful.norm.vmin, doubtful.norm.vmax) == (0, 1)
    assert "ambiguity" in display.colorbar_.ax.get_ylabel()


def test_new_samples_in_doubt(plain_model, iris, ax):
    display = AmbiguityDisplay.from_estimator(plain_model, iris[40:60], ax=ax)
    np.testing.assert_allclose(display.memberships, plain_model.predict_proba(iris[40:60]))
    assert len(display.positions) == 20
