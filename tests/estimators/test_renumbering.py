"""Clusters under other numbers: all that a model tells has other columns, and nothing else changes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.base import clone

from afcm import AFCM, GeneralizedGaussianMixture, PlainAFCM, load_model, save_model
from afcm.estimators.renumbering import PARTS, Renumbering, order_by_size, renumber
from tests.modelfiles.models import NEW, RECIPES, X, fitted, new_samples

MODELS = [name for name in RECIPES if hasattr(fitted(name), "memberships_")]
ORDER = {1: [0], 2: [1, 0], 3: [2, 0, 1]}
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def reorder(name):
    """A fitted model, its copy under other numbers, and the order of its columns."""
    model = fitted(name)
    order = ORDER[model.memberships_.shape[1]]
    return model, renumber(model, order), order


@pytest.mark.parametrize("name", MODELS)
def test_memberships_and_predictions_have_other_columns(name):
    model, other, order = reorder(name)
    np.testing.assert_array_equal(other.memberships_, model.memberships_[:, order])
    np.testing.assert_array_equal(other.labels_, other.memberships_.argmax(axis=1))
    new = new_samples(name)
    if new is None:
        return
    tol = {"rtol": 1e-4, "atol": 1e-6} if "float32" in name else CLOSE
    np.testing.assert_allclose(other.predict_proba(new), model.predict_proba(new)[:, order], **tol)
    np.testing.assert_array_equal(np.asarray(order)[other.predict(new)], model.predict(new))
    if hasattr(model, "outlier_scores_"):
        np.testing.assert_allclose(other.outlier_scores(new), model.outlier_scores(new), **tol)
    if hasattr(model, "score_samples"):
        np.testing.assert_allclose(other.score_samples(new), model.score_samples(new), **tol)
    if hasattr(model, "transform"):
        of_clusters = not hasattr(model, "_fitted") and not hasattr(model, "anchor_labels_")  # others: an embedding
        expected = np.asarray(model.transform(new))
        np.testing.assert_allclose(other.transform(new), expected[:, order] if of_clusters else expected, **tol)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_file_holds_the_other_numbers(name, tmp_path):
    _, other, _ = reorder(name)
    again = load_model(save_model(other, tmp_path / "model.afcm"))
    np.testing.assert_array_equal(again.memberships_, other.memberships_)
    if new_samples(name) is not None:
        np.testing.assert_array_equal(again.predict_proba(new_samples(name)), other.predict_proba(new_samples(name)))


@pytest.mark.parametrize("name", ["AFCM", "PlainAFCM", "GeneralizedGaussianMixture shapes", "FCAG"])
def test_the_model_itself_is_not_changed(name, tmp_path):
    model = fitted(name)
    before = save_model(model, tmp_path / "before.afcm").read_bytes()
    reorder(name)
    assert save_model(model, tmp_path / "after.afcm").read_bytes() == before


def sizes_of(value, n_clusters):
    """Paths of arrays in a model, or a part of one, with an axis as long as there are clusters."""
    if dataclasses.is_dataclass(value) or hasattr(value, "get_params"):
        return {
            f"{name}.{path}" if path else name
            for name, item in vars(value).items()
            for path in sizes_of(item, n_clusters)
        }
    return {""} if n_clusters in getattr(value, "shape", ()) else set()


def test_no_part_that_knows_the_clusters_is_forgotten():
    """Arrays with an axis of length c = 3 among samples of 5 columns are renumbered, or are of the embedding."""
    random = np.random.default_rng(0)
    samples = random.standard_normal((90, 5)) + 9 * random.integers(3, size=(90, 1))
    embedded = {"embedding_", "embedding", "anchor_embedding", "inverse_spectrum"}
    for model in (AFCM(3), AFCM(3, graph="anchors"), AFCM(3, n_views=2), PlainAFCM(3, noise=0.1)):
        model.fit(samples)
        other = renumber(model, [2, 0, 1])
        for path in sizes_of(model, 3):
            if path.split(".")[-1] not in embedded:
                before, after = model, other
                for name in path.split("."):
                    before, after = getattr(before, name), getattr(after, name)
                assert after is not before, path
    assert {cls.__name__ for cls in PARTS} >= {"Extension", "AnchorExtension", "LocalMixture", "DistanceBackground"}


def test_stability_centers_and_names_go_with_their_clusters():
    y = np.full(len(X), -1)
    y[:30] = fitted("AFCM").labels_[:30]
    model = AFCM(3, n_views=4, random_state=0).fit(X, np.where(y < 0, None, y.astype(str)))
    other = renumber(model, [1, 2, 0])
    for name in ("stability_", "cluster_names_", "cluster_centers_"):
        np.testing.assert_array_equal(getattr(other, name), getattr(model, name)[[1, 2, 0]])
    np.testing.assert_array_equal(other.sample_stability_, model.sample_stability_)
    np.testing.assert_array_equal(other.paper_memberships_, model.paper_memberships_[:, [1, 2, 0]])


@pytest.mark.parametrize(
    "change", [lambda model: model, lambda model: model.merge([0, 3]), lambda model: model.split(1)]
)
def test_levels_and_later_changes_follow_the_other_numbers(change):
    model = change(AFCM(4, n_views=3, random_state=0).fit(X))
    order = np.roll(np.arange(model.n_clusters_), 1)
    other = renumber(model, order)
    for before, after in zip(model.levels_, other.levels_, strict=True):
        assert after.cut == pytest.approx(before.cut)
        assert after.stability == (None if before.stability is None else pytest.approx(before.stability))
        groups = [set(order[list(group)].tolist()) for group in after.joined]
        assert sorted(map(sorted, groups)) == sorted(map(sorted, before.joined))
    joined = other.merge([0, 1])
    expected = model.memberships_[:, order[[0, 1]]].sum(axis=1)
    np.testing.assert_allclose(joined.memberships_[:, 0], expected, **CLOSE)
    np.testing.assert_allclose(joined.predict_proba(X)[:, 0], expected, **CLOSE)
    assert joined.normalized_cut_ == pytest.approx(model.merge(order[[0, 1]]).normalized_cut_)


def test_a_stream_goes_on_with_the_other_numbers():
    model = PlainAFCM(3, random_state=0).partial_fit(X[:30])
    other = renumber(model, [2, 0, 1]).partial_fit(X[30:])
    model.partial_fit(X[30:])
    np.testing.assert_allclose(other.predict_proba(NEW), model.predict_proba(NEW)[:, [2, 0, 1]], **CLOSE)


def test_a_warm_start_goes_on_with_the_other_numbers():
    model = AFCM(3, random_state=0, warm_start=True).fit(X)
    other = renumber(model, [2, 0, 1]).fit(X)
    model.fit(X)
    np.testing.assert_allclose(other.memberships_, model.memberships_[:, [2, 0, 1]], atol=1e-8)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical", "identity"])
def test_components_of_a_mixture_keep_their_shapes_and_scatters(kind):
    """Three columns and three clusters: a tied scatter is as wide as there are clusters."""
    model = GeneralizedGaussianMixture(3, covariance_type=kind, shared_shape=False, random_state=0).fit(X)
    other, order = renumber(model, [2, 0, 1]), [2, 0, 1]
    np.testing.assert_allclose(other.score_samples(NEW), model.score_samples(NEW), **CLOSE)
    np.testing.assert_array_equal(other.shape_, model.shape_[order])
    np.testing.assert_array_equal(other.covariances_, model.covariances_[order])
    np.testing.assert_array_equal(other.history_["shape"], model.history_["shape"][:, order])
    assert other.bic(X) == pytest.approx(model.bic(X))


def test_samples_in_chunks_keep_their_place():
    da = pytest.importorskip("dask.array")
    samples = da.from_array(X, chunks=(20, 3))
    model = AFCM(3, graph="anchors", n_anchors=20, random_state=0).fit(samples)
    other = renumber(model, [2, 0, 1])
    before = np.asarray(model.memberships_)[:, [2, 0, 1]]
    np.testing.assert_allclose(np.asarray(other.memberships_), before, **CLOSE)
    np.testing.assert_allclose(np.asarray(other.predict_proba(samples)), before, atol=1e-9)
    np.testing.assert_array_equal(np.asarray(other.labels_), before.argmax(axis=1))


def test_views_of_one_memory_stay_views_of_one():
    table = np.arange(12.0).reshape(4, 3)
    renumbering = Renumbering([1, 2, 0])
    first, second = (renumbering.take_columns(view) for view in (table[:], table[:]))
    assert first is second
    assert renumbering.take_columns(table.copy()) is not first


def test_order_by_size_is_that_of_a_slow_sort():
    random = np.random.default_rng(0)
    for _ in range(50):
        labels, weights = random.integers(5, size=12), random.integers(3, size=12).astype(float)
        there = [[i for i in range(12) if labels[i] == k and weights[i] > 0] for k in range(5)]
        slow = sorted(range(5), key=lambda k: (-sum(weights[there[k]]), there[k][0] if there[k] else 99, k))
        assert order_by_size(labels, 5, weights).tolist() == slow
    assert order_by_size(np.array([1, 1, 0, 0]), 3).tolist() == [1, 0, 2]


@pytest.mark.parametrize("setting", [{}, {"graph": "anchors"}, {"init": "k-means++"}])
def test_afcm_numbers_its_clusters_by_size(setting):
    random = np.random.default_rng(0)
    samples = np.concatenate([random.standard_normal((n, 2)) + 12 * k for k, n in enumerate([30, 90, 60])])
    model = AFCM(3, random_state=0, **setting).fit(samples)
    assert np.bincount(model.labels_).tolist() == [90, 60, 30]
    weighted = clone(model).fit(samples, sample_weight=np.repeat([9.0, 1.0, 1.0], [30, 90, 60]))
    assert weighted.labels_[0] == 0
    np.testing.assert_array_equal(model.predict(samples), model.labels_)


def test_given_numbers_stay():
    """Those of a start, of known labels and of an earlier fit; the paper's are those of its random start."""
    random = np.random.default_rng(0)
    samples = np.concatenate([random.standard_normal((n, 2)) + 12 * k for k, n in enumerate([30, 90, 60])])
    blocks = np.repeat([0, 1, 2], [30, 90, 60])
    given = AFCM(3, init=np.eye(3)[blocks], random_state=0).fit(samples)
    np.testing.assert_array_equal(given.labels_, blocks)
    known = AFCM(3, random_state=0).fit(samples, np.where(np.arange(180) % 5, -1, blocks))
    np.testing.assert_array_equal(known.labels_, blocks)
    again = renumber(AFCM(3, random_state=0, warm_start=True).fit(samples), [2, 0, 1])
    before = again.labels_
    np.testing.assert_array_equal(again.fit(samples).labels_, before)
    papers = [AFCM.paper(3, random_state=seed).fit((samples + 5) / 40) for seed in range(6)]
    assert any((np.diff(np.bincount(paper.labels_, minlength=3)) > 0).any() for paper in papers)
