"""``memberships_format="sparse"``: the largest few memberships from the fit to the files."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from afcm import AFCM, FCM, EntropyFCM, PlainAFCM, align, load_model, read_info, save_model
from afcm.equations.sparse_memberships import FINE_KEPT, MOST_KEPT, keep_largest
from afcm.estimators.renumbering import renumber

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


# --- AFCM ---

# Thirty clusters that touch, and samples of weight 0 beside heavy ones.
X, NEW, WEIGHTS = samples(), samples(seed=1), np.arange(400) % 4.0
SIMILAR = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 2)
KNOWN = np.where(np.arange(400) % 5, -1, np.random.default_rng(0).integers(30, size=400))
KINDS = {
    "walk": (AFCM(30, n_views=0), {"X": X}, NEW),
    "views": (AFCM(30, n_views=3), {"X": X}, NEW),
    "mixture": (AFCM(20), {"X": samples(4000, 20)[:, :2]}, NEW[:, :2]),
    "weights": (AFCM(30, n_views=2), {"X": X, "sample_weight": WEIGHTS}, NEW),
    "rows of a sparse matrix": (AFCM(30, n_views=0), {"X": sparse.csr_array(X)}, sparse.csr_array(NEW)),
    "float32": (AFCM(30, n_views=0), {"X": X.astype(np.float32)}, NEW.astype(np.float32)),
    "anchors": (AFCM(30, graph="anchors", n_anchors=120), {"X": X}, NEW),
    "anchors, weights": (AFCM(30, graph="anchors", n_anchors=120), {"X": X, "sample_weight": WEIGHTS}, NEW),
    "given": (AFCM(30, affinity="precomputed"), {"X": SIMILAR}, SIMILAR[::3]),
    "cosine": (AFCM(30, metric="cosine", n_views=0), {"X": X}, NEW),
    "known": (AFCM(30), {"X": X, "y": KNOWN}, NEW),
    "paper": (AFCM(30, memberships="paper", noise=None), {"X": X}, NEW),
    "soft paper": (AFCM(30, memberships="paper", noise=None, graph_weight=1.0, max_iter=3), {"X": X}, NEW),
}
any_warning = pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")


@pytest.fixture(scope="module")
def graph_pair():
    """Fits of a kind with all memberships and with the largest few, each made once."""
    made = {}

    def get(kind):
        if kind not in made:
            model, fit, _ = KINDS[kind]
            pair = [clone(model).set_params(random_state=0, memberships_format=form) for form in ("dense", "sparse")]
            made[kind] = [one.fit(**fit) for one in pair]
        return made[kind]

    return get


def check_few(found, dense, atol=0.0):
    """Sparse memberships are the largest few of dense ones; where these differ a little, others may be left out."""
    assert found.format == "csr"
    assert found.dtype == dense.dtype
    assert np.diff(found.indptr).max() <= MOST_KEPT
    np.testing.assert_allclose(found.toarray(), keep_largest(dense).toarray(), rtol=1e-6, atol=atol)


@any_warning
@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_fit_differs_in_nothing_but_what_it_leaves_out(graph_pair, kind):
    (dense, few), (_, fit, new) = graph_pair(kind), KINDS[kind]
    check_few(few.memberships_, dense.memberships_)
    check_few(few.paper_memberships_, dense.paper_memberships_)
    check_few(few.predict_proba(new), dense.predict_proba(new), atol=1.1e-3)
    np.testing.assert_array_equal(few.predict(new), dense.predict(new))
    np.testing.assert_array_equal(few.labels_, few.memberships_.toarray().argmax(axis=1))
    for name in ("labels_", "embedding_", "cluster_centers_", "outlier_scores_", "stability_", "sample_stability_"):
        assert hasattr(few, name) == hasattr(dense, name)
        found, expected = getattr(few, name, 0), getattr(dense, name, 0)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(few.probabilities_, dense.probabilities_, rtol=1e-6)
    assert few.normalized_cut_ == dense.normalized_cut_
    assert few.membership_state_ == dense.membership_state_
    assert few.crispness_ == pytest.approx(dense.crispness_, abs=2e-3)
    assert repr(few.levels_) == repr(dense.levels_)
    np.testing.assert_allclose(few.transform(new), dense.transform(new), rtol=1e-4, atol=1e-7)
    if hasattr(few, "outlier_scores_"):
        np.testing.assert_allclose(few.outlier_scores(new), dense.outlier_scores(new), rtol=1e-6)
    if kind != "given":  # similarities do not know a fitted sample again
        check_few(few.predict_proba(fit["X"]), few.memberships_.toarray(), atol=1e-6)


@any_warning
@pytest.mark.parametrize("kind", KINDS)
def test_levels_merges_and_splits_of_few_memberships(graph_pair, kind):
    """What a row leaves out is missing in its groups and parts, and nothing else; all that tells them agrees."""
    (dense, few), (_, fit, new) = graph_pair(kind), KINDS[kind]
    largest = int(np.bincount(dense.labels_).argmax())
    for change in (
        lambda model: model.at(12),
        lambda model: model.merge([1, 5, 3]),
        lambda model: model.split(largest, X=fit["X"]),
        lambda model: model.merge([0, largest or 1]).split(2, X=fit["X"]).at(9),
    ):
        expected, found = change(dense), change(few)
        for name in ("memberships_", "paper_memberships_"):
            left = 1 - getattr(few, name).sum(axis=1)
            wrong = abs(getattr(found, name).toarray() - getattr(expected, name)).max(axis=1)
            assert (wrong - left).max() <= 3e-3
        assert (found.labels_ == expected.labels_).mean() > 0.99
        np.testing.assert_allclose(found.cluster_centers_, expected.cluster_centers_, atol=1e-4)
        assert found.normalized_cut_ == pytest.approx(expected.normalized_cut_, rel=1e-2)
        assert repr(found.levels_[0].joined) == repr(expected.levels_[0].joined)
        assert (found.predict(new) == expected.predict(new)).mean() > 0.99
        if kind != "given":
            np.testing.assert_allclose(found.predict_proba(fit["X"]).toarray(), found.memberships_.toarray(), atol=1e-6)
            np.testing.assert_array_equal(found.predict(fit["X"]), found.labels_)


@any_warning
@pytest.mark.parametrize("kind", KINDS)
def test_files_numbers_names_and_notebooks_of_graph_fits(graph_pair, kind, tmp_path):
    (dense, few), (_, _, new) = graph_pair(kind), KINDS[kind]
    for model in (few, few.at(12)):
        again = load_model(save_model(model, tmp_path / "few.afcm"))
        for name in ("memberships_", "paper_memberships_"):
            assert (getattr(again, name) != getattr(model, name)).nnz == 0
        assert (again.predict_proba(new) != model.predict_proba(new)).nnz == 0
        assert repr(again.levels_) == repr(model.levels_)
    order = np.roll(np.arange(few.n_clusters_), 7)
    other = renumber(few, order)
    check_few(other.memberships_, few.memberships_.toarray()[:, order])
    check_few(other.predict_proba(new), few.predict_proba(new).toarray()[:, order], atol=1.1e-3)
    assert load_model(save_model(other, tmp_path / "other.afcm")).memberships_.shape == (few.memberships_.shape)
    np.testing.assert_array_equal(align(other, dense).model.labels_, dense.labels_)
    assert f"{few.n_clusters_} clusters" in few._repr_html_inner()
    assert few.cluster_sets(0.1)[np.arange(len(few.labels_)), few.labels_].all()


def arrays_as_wide(value, shape, found):
    """Names of the arrays of this shape in a model and its parts, and the memory that each begins at."""
    for name, item in vars(value).items():
        if isinstance(item, np.ndarray) and item.shape == shape:
            found.append((name, item.__array_interface__["data"][0]))
        elif hasattr(item, "__dataclass_fields__"):
            arrays_as_wide(item, shape, found)
    return found


@any_warning
@pytest.mark.parametrize("kind", ["walk", "mixture", "anchors", "paper"])
def test_the_embedding_alone_is_as_wide_as_there_are_clusters(graph_pair, kind):
    dense, few = graph_pair(kind)
    shape = dense.memberships_.shape
    assert len({memory for _, memory in arrays_as_wide(dense, shape, [])}) >= 2
    found = arrays_as_wide(few, shape, [])
    assert {name for name, _ in found} == {"embedding_", "embedding"}
    assert len({memory for _, memory in found}) == 1
    assert np.diff(few._fitted.extension.memberships.indptr).max() <= FINE_KEPT


@any_warning
def test_a_warm_start_goes_on_from_few_memberships():
    long, short = (AFCM(30, init="random", tol=0.0, max_iter=n, n_views=0, random_state=0) for n in (7, 4))
    short.set_params(memberships_format="sparse", warm_start=True).fit(X)
    short.set_params(max_iter=3).fit(X)
    long = align(long.fit(X), short).model
    check_few(short.memberships_, long.memberships_, atol=2e-3)


def test_bad_use_of_a_graph_fit_ends_in_a_sentence():
    with pytest.raises(ValueError, match="memberships_format='thin'"):
        AFCM(3, memberships_format="thin").fit(X)
    needs = "memberships_format='sparse' needs samples in NumPy arrays; use them, with device=None, or 'dense'"
    with pytest.raises(ValueError, match=needs):
        AFCM(3, memberships_format="sparse", device="cpu").fit(X)
    da = pytest.importorskip("dask.array")
    chunks = da.from_array(X, chunks=(100, 4))
    few = AFCM(3, memberships_format="sparse", graph="anchors", random_state=0)
    with pytest.raises(ValueError, match=needs):
        few.fit(chunks)
    with pytest.raises(ValueError, match=needs):
        few.fit(X).predict_proba(chunks)


def test_tensors_are_refused():
    torch = pytest.importorskip("torch")
    few = AFCM(3, memberships_format="sparse", random_state=0)
    for attempt in (few.fit, few.prepare, few.fit(X).predict, few.transform):
        with pytest.raises(ValueError, match="memberships_format='sparse' needs samples in NumPy arrays"):
            attempt(torch.as_tensor(X))
    prepared = AFCM(3, random_state=0).prepare(torch.as_tensor(X))
    with pytest.raises(ValueError, match="memberships_format='sparse' needs samples in NumPy arrays"):
        few.fit(prepared)
