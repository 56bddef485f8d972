"""A fitted graph: samples are embedded, placed and calibrated as by hand, wherever they are."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from afcm import arrays
from afcm.equations import sparse_memberships
from afcm.equations.sparse_memberships import keep_largest
from afcm.graph.affinity import normalize_graph
from afcm.graph.diffusion import diffuse
from afcm.graph.similarity import NeighborSimilarity
from afcm.models import fitted_background, fitted_graph
from afcm.models.distance_background import Distances, fit_distance_background
from afcm.models.extension import Extension
from afcm.models.fitted_graph import FittedGraph
from afcm.models.regrouping import Merge, Split
from afcm.neighbors import find_neighbors

K, SIGMA, LAMBDA, GAMMA = 4, 0.7, 3.0, 1.5
NODES = np.random.default_rng(0).standard_normal((10, 2))
NEW = np.vstack([np.random.default_rng(1).standard_normal((4, 2)), NODES[6], [[50.0, 50.0]]])
# Of each fitted sample its node; two had weight 0 and are in no graph.
NODE_OF_SAMPLE = np.array([3, 0, -1, 5, 5, 1, -1, 9])
SAMPLES = np.where(
    (NODE_OF_SAMPLE < 0)[:, None], np.random.default_rng(2).standard_normal((8, 2)), NODES[NODE_OF_SAMPLE]
)


def fitted_by_hand(node_of_sample=NODE_OF_SAMPLE, dtype="float64"):
    """Ten nodes with masses, three clusters in two dimensions."""
    rng = np.random.default_rng(3)
    similarity = NeighborSimilarity.from_neighbors(NODES, find_neighbors(NODES, K + 1), K, "gaussian", SIGMA)
    upper = np.triu(rng.random((10, 10)), 1)
    graph = normalize_graph(sp.csr_array(upper + upper.T), rng.uniform(0.5, 3.0, 10))
    extension = Extension(
        rng.standard_normal((10, 2)),
        rng.dirichlet(np.ones(3), size=10),
        rng.standard_normal((3, 2)),
        GAMMA,
        LAMBDA,
        graph.degrees,
        graph.masses,
        rng.standard_normal((2, 2)),
    )
    return FittedGraph(similarity, extension, graph, node_of_sample, dtype), upper + upper.T


def weights_by_hand(point, nodes, k=K):
    """Similarities to the k nearest nodes by the Gaussian kernel; to the nearest alone where all are too far."""
    squared = ((nodes - point) ** 2).sum(axis=1)
    weights = np.zeros(len(nodes))
    for j in np.argsort(squared)[:k]:
        weights[j] = np.exp(-squared[j] / (2 * SIGMA**2))
    if not weights.any():
        weights[squared.argmin()] = 1
    return weights, (squared.argmin() if squared.min() == 0 else None)


def shares_by_hand(point, fitted):
    weights, twin = weights_by_hand(point, fitted.similarity.points)
    shares = weights * fitted.extension.masses
    return shares / sum(shares), twin


def row_by_hand(point, fitted):
    """``(λ Σ_j s_j z_j + γ u V) Θ⁻¹`` with ``s_j = share_j √(d / d_j)``, d the mean degree of the neighbors."""
    shares, twin = shares_by_hand(point, fitted)
    kept = fitted.extension
    if twin is not None:
        return kept.embedding[twin]
    degree = shares @ kept.degrees
    smoothed = sum(shares[j] * np.sqrt(degree / kept.degrees[j]) * kept.embedding[j] for j in range(len(shares)))
    pulled = shares @ kept.memberships @ kept.centers
    return (kept.graph_weight * smoothed + kept.precision * pulled) @ kept.inverse_spectrum


def memberships_by_hand(row, fitted):
    scores = -fitted.extension.precision * ((row - fitted.extension.centers) ** 2).sum(axis=1)
    scores = np.exp(scores - scores.max())
    return scores / scores.sum()


def test_new_samples_are_embedded_and_get_memberships_by_hand():
    fitted, _ = fitted_by_hand()
    rows = np.array([row_by_hand(point, fitted) for point in NEW])
    np.testing.assert_allclose(fitted.embed(NEW), rows, rtol=1e-10)
    expected = [memberships_by_hand(row, fitted) for row in rows]
    np.testing.assert_allclose(fitted.memberships(NEW), expected, rtol=1e-9, atol=1e-12)


def test_fitted_samples_have_the_rows_of_their_nodes_and_absent_ones_are_placed():
    fitted, _ = fitted_by_hand()
    kept = fitted.extension
    embedding, memberships, paper = fitted.expand(SAMPLES)
    np.testing.assert_array_equal(memberships, paper)
    for point, node, row, found in zip(SAMPLES, NODE_OF_SAMPLE, embedding, memberships, strict=True):
        placed = row_by_hand(point, fitted)
        np.testing.assert_allclose(row, placed if node < 0 else kept.embedding[node], rtol=1e-10)
        expected = memberships_by_hand(placed, fitted) if node < 0 else kept.memberships[node]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_samples_that_are_the_nodes_themselves_are_neither_copied_nor_placed():
    fitted, _ = fitted_by_hand(slice(None))
    embedding, memberships, _ = replace(fitted, similarity=None).expand(NODES)
    np.testing.assert_array_equal(embedding, fitted.extension.embedding)
    np.testing.assert_array_equal(memberships, fitted.extension.memberships)
    assert np.shares_memory(embedding, fitted.extension.embedding)
    assert np.shares_memory(memberships, fitted.extension.memberships)


def test_samples_of_which_no_node_is_known_are_placed():
    fitted, _ = fitted_by_hand(None)
    embedding, memberships, _ = fitted.expand(NEW)
    np.testing.assert_array_equal(embedding, fitted.embed(NEW))
    np.testing.assert_array_equal(memberships, fitted.memberships(NEW))


def test_such_samples_have_the_memberships_of_the_method_and_those_of_the_paper():
    fitted, _ = fitted_by_hand(None)
    walking = replace(fitted, method="walk", walked=WALKED, of_nodes=WALKED)
    _, memberships, paper = walking.expand(NEW)
    np.testing.assert_array_equal(paper, fitted.memberships(NEW))
    np.testing.assert_array_equal(memberships, walking.memberships(NEW))
    assert abs(memberships - paper).max() > 0.1


def walk_by_hand(weights, kept):
    """``0.1 (1 − 0.9 P)⁻¹ U`` with ``P = D⁻¹ W M``."""
    walk = weights * kept.masses / (weights @ kept.masses)[:, None]
    return 0.1 * np.linalg.solve(np.eye(len(walk)) - 0.9 * walk, kept.memberships)


def test_memberships_of_a_walk():
    fitted, weights = fitted_by_hand()
    walked = walk_by_hand(weights, fitted.extension)
    np.testing.assert_allclose(diffuse(fitted.walk_graph, fitted.extension.memberships), walked, atol=2e-5)
    fitted = replace(fitted, method="walk", walked=walked, of_nodes=walked)
    for point, found in zip(NEW, fitted.memberships(NEW), strict=True):
        shares, twin = shares_by_hand(point, fitted)
        np.testing.assert_allclose(found, shares @ walked if twin is None else walked[twin], rtol=1e-10)
    _, memberships, paper = fitted.expand(SAMPLES)
    there = NODE_OF_SAMPLE >= 0
    np.testing.assert_array_equal(memberships[there], walked[NODE_OF_SAMPLE[there]])
    np.testing.assert_array_equal(paper[there], fitted.extension.memberships[NODE_OF_SAMPLE[there]])
    np.testing.assert_allclose(memberships[~there], fitted.memberships(SAMPLES[~there]))


def test_every_method_has_words_that_fit_into_a_title():
    assert set(fitted_graph.METHOD_WORDS) == {"paper", "walk", "views", "mixture", "overlap", "known"}
    for words in fitted_graph.METHOD_WORDS.values():
        assert words.replace(" ", "").replace("'", "").isalpha(), words


class Posterior(NamedTuple):
    """A mixture that knows what it will be asked."""

    rows: object
    one_each: bool = False

    def posterior(self, points):
        return self.rows[: len(points)], None


def test_a_posterior_is_ruled_out_where_the_walk_never_goes():
    rows = np.array([[0.5, 0.3, 0.2], [0.6, 0.4, 0.0], [1.0, 0.0, 0.0]])
    walked = np.array([[0.5, 0.5, 0.0], [0.0, 0.1, 0.9], [0.0, 0.5, 0.5]])
    factor = walked / (walked + 5e-4)
    expected = rows * factor
    expected[:2] /= expected[:2].sum(axis=1, keepdims=True)
    expected[2] = walked[2]  # nothing is left: the walk alone
    found = fitted_graph.to_posterior(Posterior(rows), NEW[:3], walked)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_array_equal(fitted_graph.to_posterior(Posterior(rows), NEW[:3], None), rows)
    walked = np.array([[0.5, 0.5, 0.0], [1e-9, 0.1, 0.9], [1e-9, 0.5, 0.5]])  # one density each: other pieces alone
    expected = [[0.625, 0.375, 0.0], [0.6, 0.4, 0.0], [1.0, 0.0, 0.0]]
    found = fitted_graph.to_posterior(Posterior(rows, one_each=True), NEW[:3], walked)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_memberships_of_a_mixture():
    fitted, _ = fitted_by_hand()
    rng = np.random.default_rng(5)
    walked, of_nodes = rng.dirichlet(np.ones(3), 10), rng.dirichlet(np.ones(3), 10)
    rows = rng.dirichlet(np.ones(3), len(NEW))
    fitted = replace(fitted, method="mixture", densities=Posterior(rows), walked=walked, of_nodes=of_nodes)
    for number, point in enumerate(NEW):
        shares, twin = shares_by_hand(point, fitted)
        own = shares @ walked
        expected = rows[number] * own / (own + 5e-4)
        expected = expected / expected.sum() if twin is None else of_nodes[twin]
        np.testing.assert_allclose(fitted.memberships(NEW)[number], expected, rtol=1e-10)
    np.testing.assert_array_equal(fitted.memberships(NODES[:6]), of_nodes[:6])
    chunked = replace(fitted, walked=None, of_nodes=None)  # nothing is known of the nodes: the posteriors alone
    np.testing.assert_array_equal(chunked.memberships(NEW), rows)


def fit_by_method(method, node_of_sample=NODE_OF_SAMPLE):
    """A fit by hand with memberships of this method; the posterior of a mixture is by columns of the points."""
    fitted, _ = fitted_by_hand(node_of_sample)
    walked, of_nodes = np.random.default_rng(7).dirichlet(np.ones(3), (2, 10))
    if method == "paper":
        return fitted
    return replace(fitted, method=method, densities=Slopes(), walked=walked, of_nodes=of_nodes)


class Slopes(NamedTuple):
    """A mixture whose posterior depends on the points, block by block alike."""

    one_each: bool = False

    def posterior(self, points):
        rows = np.exp(np.column_stack([points, -points.sum(axis=1)]).clip(-3, 3))
        return rows / rows.sum(axis=1, keepdims=True), None


@pytest.mark.parametrize("entries", [1, 10**6])
@pytest.mark.parametrize("method", ["paper", "walk", "views", "known", "mixture", "overlap"])
def test_sparse_memberships_are_the_largest_of_all(monkeypatch, method, entries):
    """Three clusters are few: what a row leaves out is at most 0.001, and nothing where it has no smaller ones."""
    monkeypatch.setattr(sparse_memberships, "BLOCK_ENTRIES", entries)
    fitted = fit_by_method(method)
    few = fitted.keep_few()
    assert few.is_sparse
    assert not fitted.is_sparse
    steps = (Merge(np.array([0, 1, 0])), Split(1, np.random.default_rng(8).random((10, 2))))
    for step in ((), steps[:1], steps[1:], steps):
        all_of, few_of = replace(fitted, steps=step), replace(few, steps=step)
        np.testing.assert_allclose(few_of.memberships(NEW).toarray(), all_of.memberships(NEW), atol=1.1e-3)
        np.testing.assert_array_equal(few_of.node_labels, all_of.node_labels)
    np.testing.assert_allclose(few.embed(NEW), fitted.embed(NEW), rtol=1e-9)
    embedding, *found = few.expand(SAMPLES)
    expected = fitted.expand(SAMPLES)
    np.testing.assert_allclose(embedding, expected[0], rtol=1e-9)
    for sparse_rows, dense_rows in zip(found, expected[1:], strict=True):
        np.testing.assert_allclose(sparse_rows.toarray(), keep_largest(dense_rows).toarray(), rtol=1e-9, atol=1e-12)
    scores, asked = replace(fitted, densities=Scores()), replace(few, densities=Scores())
    if method not in ("mixture", "overlap"):  # else the densities are asked for memberships
        np.testing.assert_allclose(asked.outlier_scores(NEW), scores.outlier_scores(NEW))


def test_sparse_memberships_of_samples_that_are_the_nodes_are_not_copied():
    few = fit_by_method("walk", slice(None)).keep_few()
    assert few.expand(NODES)[1] is few.of_nodes
    np.testing.assert_array_equal(
        few.expand(NODES)[2].toarray(), keep_largest(few.extension.memberships.toarray()).toarray()
    )


class Scores(NamedTuple):
    """A background that shows what it was asked."""

    def outlier_scores(self, points, labels, log_distances):
        assert points is None
        return 100.0 * labels + log_distances


def scores_by_hand(points, fitted):
    """By the labels of the memberships and the distance to the K-th nearest node that is not the sample itself."""
    labels = [memberships_by_hand(row_by_hand(point, fitted), fitted).argmax() for point in points]
    assert len(set(labels)) > 1
    others = [sorted(np.linalg.norm(node - point) for node in NODES if (node != point).any()) for point in points]
    return np.array([100.0 * label + np.log(distances[K - 1]) for label, distances in zip(labels, others, strict=True)])


def test_outlier_scores_come_from_the_clusters_and_the_distances():
    fitted, _ = fitted_by_hand()
    scores = replace(fitted, densities=Scores()).outlier_scores(NEW)
    np.testing.assert_allclose(scores, scores_by_hand(NEW, fitted), rtol=1e-10)


class Mixture:
    def outlier_scores(self, points):
        return points[:, 0] ** 2


def test_outlier_scores_of_a_mixture_come_from_the_samples(monkeypatch):
    monkeypatch.setattr(fitted_background, "LocalMixture", Mixture)
    fitted, _ = fitted_by_hand()
    scores = replace(fitted, densities=Mixture(), extension=None).outlier_scores(NEW)
    np.testing.assert_array_equal(scores, NEW[:, 0] ** 2)


WALKED = np.random.default_rng(6).dirichlet(np.ones(3), 10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_have_the_dtype_of_the_samples(dtype):
    fitted, _ = fitted_by_hand(np.maximum(NODE_OF_SAMPLE, 0), dtype=dtype)
    double = replace(fitted, dtype="float64")

    def results(model):
        return [
            model.embed(NEW),
            model.memberships(NEW),
            *model.expand(SAMPLES),
            replace(model, method="walk", walked=WALKED, of_nodes=WALKED).memberships(NEW),
            replace(model, densities=Scores()).outlier_scores(NEW),
        ]

    for found, expected in zip(results(fitted), results(double), strict=True):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected.astype(dtype))


def test_tensors_have_the_dtype_of_the_samples(monkeypatch):
    monkeypatch.setattr(arrays, "is_tensor", lambda array: isinstance(array, SimpleNamespace))
    tensor = SimpleNamespace(float=lambda: "single", double=lambda: "double")
    assert fitted_graph._as_dtype(tensor, "float32") == "single"
    assert fitted_graph._as_dtype(tensor, "float64") == "double"


# --- samples elsewhere ---


class Moved(NamedTuple):
    """A part of a fit as if it were on the device of ``reference``."""

    part: object
    reference: object


@pytest.fixture
def moving(monkeypatch):
    monkeypatch.setattr(
        arrays, "to_device_of", lambda parts, reference: tuple(Moved(part, reference) for part in parts)
    )


@pytest.mark.usefixtures("moving")
def test_a_fit_is_taken_to_the_device_of_the_samples():
    fitted = replace(fitted_by_hand()[0], walked=WALKED, of_nodes=WALKED + 1)
    points, there = fitted._by_rows(NEW, lambda points, fitted: (points, fitted))
    assert points is NEW
    for name in ("similarity", "extension", "walked", "of_nodes"):
        assert getattr(there, name).part is getattr(fitted, name)
        assert getattr(there, name).reference is NEW
    assert there.dtype == fitted.dtype


@pytest.mark.usefixtures("moving")
def test_a_fit_comes_back_to_the_host():
    fitted = replace(fitted_by_hand()[0], walked=WALKED, of_nodes=WALKED + 1)
    here = fitted.to_host()
    for name in ("similarity", "extension", "walk_graph", "walked", "of_nodes"):
        assert getattr(here, name).part is getattr(fitted, name)
        assert getattr(here, name).reference is None
    assert here.node_of_sample is fitted.node_of_sample
    assert here.dtype == fitted.dtype


@pytest.mark.parametrize(("what", "widths"), [("embed", (3,)), ("memberships", (3,)), ("outlier_scores", ())])
def test_chunks_are_placed_where_they_are_without_the_graph(monkeypatch, what, widths):
    fitted = replace(fitted_by_hand(dtype="float32")[0], densities=Scores())
    expected, asked = getattr(fitted, what)(NEW), []

    def map_rows(function, X, *widths):
        asked.append((X, *widths))
        small = function.keywords["fitted"]
        assert (small.walk_graph, small.node_of_sample) == (None, None)
        assert small.similarity is fitted.similarity
        return np.concatenate([function(X[:4]), function(X[4:])])

    monkeypatch.setattr(arrays, "is_chunked", lambda array: array is NEW)
    monkeypatch.setattr(arrays, "map_rows", map_rows)
    found = getattr(fitted, what)(NEW)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    assert found.dtype == "float32"
    ((X, *given),) = asked
    assert X is NEW
    assert tuple(given) == widths


@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")
def test_an_estimator_is_fitted_and_places_samples_by_hand():
    """Samples with a duplicate and a weight of 0: masses, degrees and Θ of the nodes, then the rows of all samples."""
    from afcm import AFCM

    X, weights = np.vstack([NODES, NODES[2], [[0.1, -0.2]]]), np.r_[np.linspace(0.5, 2.0, 11), 0.0]
    model = AFCM(2, kernel="gaussian", bandwidth=SIGMA, n_neighbors=K, graph_weight=LAMBDA, max_iter=3, random_state=0)
    model.set_params(memberships="paper")
    fitted = model.fit(X, sample_weight=weights)._fitted
    nodes, kept = fitted.similarity.points, fitted.extension
    node = [int(np.flatnonzero((nodes == row).all(axis=1))[0]) for row in X[:11]]
    masses = np.bincount(node, weights=weights[:11])
    directed = np.array([weights_by_hand(point, nodes, K + 1)[0] for point in nodes]) - np.eye(10)  # not itself
    similar = (directed + directed.T) / 2
    degrees = similar @ masses
    np.testing.assert_allclose(kept.masses, masses, rtol=1e-13)
    np.testing.assert_allclose(kept.degrees, degrees, rtol=1e-12)
    z, v = kept.embedding, kept.centers
    smooth = z.T @ (masses[:, None] * similar * masses / np.sqrt(np.outer(degrees, degrees))) @ z
    theta = LAMBDA * smooth + kept.precision * v.T @ np.diag(masses @ kept.memberships) @ v
    np.testing.assert_allclose(kept.inverse_spectrum @ theta, np.eye(2), atol=1e-9)
    rows = np.array([z[number] for number in node] + [row_by_hand(X[11], fitted)])
    np.testing.assert_allclose(model.embedding_, rows, rtol=1e-10)
    own = [kept.memberships[number] for number in node]
    np.testing.assert_allclose(model.memberships_, [*own, memberships_by_hand(rows[11], fitted)], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.transform(X), rows, rtol=1e-10)


def test_new_samples_by_several_graphs_keep_the_labels_of_the_model():
    fitted, _ = fitted_by_hand()
    viewed = replace(fitted, method="views", walked=WALKED, of_nodes=WALKED)
    own = fitted.memberships(NEW).argmax(axis=1)
    walking = replace(viewed, method="walk").memberships(NEW)
    outvoted = 0
    for point, found, walked, label in zip(NEW, viewed.memberships(NEW), walking, own, strict=True):
        _, twin = shares_by_hand(point, fitted)
        if twin is not None or walked.argmax() == label:
            np.testing.assert_allclose(found, walked)
            continue
        outvoted += 1
        assert found.argmax() == label
        np.testing.assert_allclose(found[label], found[walked.argmax()], atol=2e-5)  # a tie
        others = [j for j in range(len(found)) if j != label]
        np.testing.assert_allclose(found[others] / walked[others], found[others].sum() / walked[others].sum())
    assert outvoted


@pytest.mark.parametrize("node_of_sample", [slice(None), np.array([3, 0, 5, 5]), np.array([3, -1, 0]), None])
@pytest.mark.parametrize("method", ["paper", "walk"])
def test_fitted_samples_have_the_outlier_scores_that_they_would_have_as_new_ones(node_of_sample, method):
    fitted, _ = fitted_by_hand(node_of_sample)
    labels, logs = np.arange(10) % 3, np.log(fitted.similarity.scales)
    densities = fit_distance_background(Distances(labels, 3, logs, np.ones(10)), np.ones(10, dtype=bool), 0.2)
    fitted = replace(fitted, densities=densities, method=method)
    if method == "walk":
        walked = np.random.default_rng(5).dirichlet(np.ones(3), size=10)
        fitted = replace(fitted, walked=walked, of_nodes=walked)
    X = NODES if node_of_sample is None or isinstance(node_of_sample, slice) else NODES[node_of_sample]
    np.testing.assert_allclose(fitted.own_outlier_scores(X), fitted.outlier_scores(X), rtol=1e-12)
