"""``memberships_format="sparse"``: the largest few memberships from the fit to the files."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from afcm import FCM, EntropyFCM, PlainAFCM, align, load_model, read_info, save_model
from afcm.equations.sparse_memberships import keep_largest

pytestmark = pytest.mark.filterwarnings("ignore::afcm.exceptions.NotConvergedWarning")
MODELS = {
    "PlainAFCM": PlainAFCM(30, max_iter=5, random_state=0),
    "EntropyFCM": EntropyFCM(30, max_iter=5, random_state=0),
    "FCM": FCM(30, m=1.3, max_iter=5, random_state=0),
}


def samples(n=400, n_clusters=30, seed=0):
    random = np.random.default_rng(0)
    places = 3 * random.standard_normal((n_clusters, 4))
    random = np.random.default_rng(seed)
    return places[random.integers(n_clusters, size=n)] + random.standard_normal((n, 4))


def pair(name, X):
    """A fit with all memberships, and one with the largest few."""
    model = MODELS[name]
    return clone(model).fit(X), clone(model).set_params(memberships_format="sparse").fit(X)


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_differs_in_nothing_but_what_it_leaves_out(name):
    X, new = samples(), samples(seed=1)
    dense, few = pair(name, X)
    assert sparse.issparse(few.memberships_)
    np.testing.assert_allclose(few.cluster_centers_, dense.cluster_centers_, rtol=1e-9)
    for found, full in ((few.memberships_, dense.memberships_), (few.predict_proba(new), dense.predict_proba(new))):
        np.testing.assert_allclose(found.toarray(), keep_largest(np.asarray(full)).toarray(), atol=1e-9)
    np.testing.assert_array_equal(few.labels_, dense.labels_)
    np.testing.assert_array_equal(few.predict(X), few.labels_)
    np.testing.assert_allclose(few.probabilities_, dense.probabilities_, atol=1e-9)
    assert few.membership_state_ == dense.membership_state_
    assert few.objective_ == pytest.approx(dense.objective_)


def test_model_files_batches_names_and_notebooks(tmp_path):
    X = samples()
    dense, few = pair("PlainAFCM", X)
    path = save_model(few, tmp_path / "few.afcm")
    again = load_model(path)
    assert (again.memberships_ != few.memberships_).nnz == 0
    assert (again.predict_proba(X) != few.predict_proba(X)).nnz == 0
    assert read_info(path).fitted["n_clusters"] == 30
    np.testing.assert_array_equal(align(few, dense).model.labels_, dense.labels_)
    np.testing.assert_array_equal(align(dense, few, X).model.labels_, dense.labels_)
    assert "30 clusters" in few._repr_html_inner()
    sets = few.cluster_sets(0.1)
    assert sets[np.arange(len(X)), few.labels_].all()
    batches = clone(few).partial_fit(X).partial_fit(samples(seed=2))
    assert sparse.issparse(batches.memberships_)


def test_no_array_of_samples_times_clusters_is_made(monkeypatch):
    """All memberships would take 305 MB; a fit takes less than half of that, with and without Numba."""
    random = np.random.default_rng(0)
    X = (
        random.standard_normal((40_000, 40))
        + 9 * random.standard_normal((1000, 40))[random.integers(1000, size=40_000)]
    )
    centers = X[:1000].copy()
    tracemalloc.start()
    few = PlainAFCM(1000, init=centers, max_iter=1, memberships_format="sparse")
    for compiled in (True, False):
        if not compiled:
            monkeypatch.setattr("afcm.compiled.dispatch.WORTH_FUSING", 10**12)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        few.fit(X)
        peak = tracemalloc.get_traced_memory()[1] - before
        assert peak < 40_000 * 1000 * 8 / 2, f"{peak / 2**20:.0f} MB"
    tracemalloc.stop()
    assert few.memberships_.shape == (40_000, 1000)


def test_bad_use_ends_in_a_sentence():
    X = samples()
    with pytest.raises(ValueError, match="memberships_format='thin'"):
        PlainAFCM(3, memberships_format="thin").fit(X)
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="memberships_format='sparse' needs samples in NumPy arrays"):
        PlainAFCM(3, memberships_format="sparse").fit(da.from_array(X, chunks=(100, 4)))
