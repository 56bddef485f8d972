"""SpectralBaseline: the paper's ablation rows, and the dense textbook formula."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh, subspace_angles
from scipy.spatial.distance import cdist

from afcm import AFCM
from afcm.baselines import SpectralBaseline
from afcm.datasets import make_rings
from afcm.exceptions import AFCMWarning, NotConvergedWarning
from afcm.graph import prepared
from afcm.linalg import eigensolver
from afcm.metrics import clustering_accuracy
from tests.baselines.data import blobs, iris, percents


@pytest.mark.parametrize("assign", ["kmeans", "plain"])
@pytest.mark.parametrize("row_normalized", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_papers_rows(assign, row_normalized, seed):
    setting = {"n_neighbors": 3, "assign": assign, "row_normalized": row_normalized, "random_state": seed}
    assert percents(SpectralBaseline(3, **setting).fit(iris()[0]).labels_) == (94.67, 85.88, 85.15)


def textbook(X, c, k, bandwidth):
    """Dense: the k nearest others, Gaussian, averaged with its transpose, normalised Laplacian, c smallest."""
    squared = cdist(X, X) ** 2
    np.fill_diagonal(squared, np.inf)
    weights = np.zeros_like(squared)
    for row, columns in enumerate(np.argsort(squared, axis=1, kind="stable")[:, :k]):
        weights[row, columns] = np.exp(-squared[row, columns] / (2 * bandwidth**2))
    weights = (weights + weights.T) / 2
    scale = np.diag(1 / np.sqrt(weights.sum(axis=1)))
    return eigh(np.eye(len(X)) - scale @ weights @ scale, subset_by_index=[0, c - 1])


@pytest.mark.parametrize("n_samples", [60, 420])
def test_the_embedding_is_the_textbooks(n_samples):
    X, _ = blobs(n_samples, 3, 3, 4.0)
    model = SpectralBaseline(3, n_neighbors=10, random_state=0).fit(X)
    values, vectors = textbook(X, 3, 10, 2.0)
    np.testing.assert_allclose(model.eigenvalues_, values, atol=1e-9)
    assert subspace_angles(model.embedding_, vectors).max() < 1e-5


def test_duplicates_are_not_merged():
    X, _ = blobs(60, 3, 3, 4.0)
    doubled = np.repeat(X, 2, axis=0)
    model = SpectralBaseline(3, n_neighbors=6, random_state=0).fit(doubled)
    assert model.embedding_.shape == (120, 3)
    np.testing.assert_allclose(model.eigenvalues_, textbook(doubled, 3, 6, 2.0)[0], atol=1e-9)


@pytest.mark.parametrize("assign", ["kmeans", "plain"])
def test_rings_are_found(assign):
    X, y = make_rings(random_state=0)
    setting = {"n_neighbors": 8, "kernel": "adaptive", "assign": assign, "random_state": 0}
    model = SpectralBaseline(3, **setting).fit(X)
    assert clustering_accuracy(y, model.labels_) == 1
    np.testing.assert_array_equal(model.labels_, np.argmax(model.memberships_, axis=1))


def test_normalised_rows_have_length_one():
    model = SpectralBaseline(3, row_normalized=True, n_neighbors=10, random_state=0).fit(iris()[0])
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)


def test_sparse_and_dense_data_agree():
    X, _ = blobs(60, 3, 3, 4.0)
    fits = [SpectralBaseline(3, n_neighbors=6, random_state=0).fit(data) for data in (X, sp.csr_array(X))]
    np.testing.assert_allclose(fits[0].eigenvalues_, fits[1].eigenvalues_, atol=1e-9)
    assert clustering_accuracy(fits[0].labels_, fits[1].labels_) == 1


def test_names_of_columns_are_those_of_the_last_fit():
    pandas = pytest.importorskip("pandas")
    X, _ = blobs(60, 3, 3, 4.0)
    frame, other = pandas.DataFrame(X, columns=list("abc")), pandas.DataFrame(X, columns=list("xyz"))
    model, paper = SpectralBaseline(3, n_neighbors=6, random_state=0), AFCM.paper(3, n_neighbors=6)
    assert list(model.fit(frame).feature_names_in_) == list("abc")
    assert not hasattr(model.fit_prepared(paper.prepare(X)), "feature_names_in_")
    assert list(model.fit_prepared(paper.prepare(other)).feature_names_in_) == list("xyz")
    assert list(model.fit(frame).feature_names_in_) == list("abc")
    assert not hasattr(model.fit(X), "feature_names_in_")


def test_more_components_than_clusters_are_warned_of():
    X, _ = blobs(90, 2, 6, 0.1)
    with pytest.warns(AFCMWarning, match=r"components, more than n_clusters=2.*use more n_neighbors"):
        model = SpectralBaseline(2, n_neighbors=2, random_state=0).fit(X)
    assert model.n_components_ >= 6


def test_eigenvectors_that_are_not_ready_are_warned_of(monkeypatch):
    X, _ = blobs(420, 3, 3, 4.0)
    exact = SpectralBaseline(3, n_neighbors=10, random_state=0).fit(X).eigenvalues_
    for name in ("DENSE_LIMIT", "DENSE_PER_VECTOR", "DENSE_MOST"):
        monkeypatch.setattr(eigensolver, name, 0)
    monkeypatch.setattr(prepared, "solve_leading", partial(prepared.solve_leading, max_steps=1))
    with pytest.warns(NotConvergedWarning, match=r"stopped with a relative residual of 0\.\d+; use more n_neighbors"):
        hurried = SpectralBaseline(3, n_neighbors=10, random_state=0).fit(X)
    assert (hurried.eigenvalues_ >= exact - 1e-9).all()
    assert hurried.eigenvalues_.sum() > exact.sum() + 1e-6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 120}, "n_neighbors=120 must be below n_samples=120; use at most 119"),
        ({"bandwidth": 1e-6}, "bandwidth=1e-06 is so small against the distances in X"),
        ({"assign": "discretize"}, "assign='discretize' is not known"),
        ({"kernel": "cosine"}, "kernel='cosine' is not known"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        SpectralBaseline(3, **parameters).fit(blobs()[0])
