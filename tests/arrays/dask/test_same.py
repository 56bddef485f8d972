"""What must not depend on where the samples are: the fit of chunks is the fit of all samples in memory."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afcm import FCM, EntropyFCM, PlainAFCM
from afcm.exceptions import AFCMWarning
from tests.strategies import quick

dask = pytest.importorskip("dask", reason="the extra afcm[dask] is not installed")
da = pytest.importorskip("dask.array", reason="the extra afcm[dask] is not installed")

MODELS = [
    PlainAFCM(4, random_state=0, n_init=2),
    FCM(4, random_state=0, n_init=1),
    FCM(4, m=1.4, random_state=0, n_init=1),
    EntropyFCM(4, random_state=0, n_init=1),
]
ONE = PlainAFCM(4, random_state=0, n_init=1)
UNEVEN = (1, 300, 0, 99, 1, 299)


@pytest.fixture(autouse=True)
def at_once():
    with dask.config.set(scheduler="synchronous"):
        yield


def fitted_alike(model, other, tol=1e-10):
    """The two fits agree in all they say; the second was made of chunks."""
    assert np.abs(other.memberships_.compute() - model.memberships_).max() <= tol
    np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_, atol=tol * 10)
    np.testing.assert_array_equal(other.labels_.compute(), model.labels_)
    assert other.n_iter_ == model.n_iter_
    assert other.converged_ == model.converged_
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-10)
    assert other.crispness_ == pytest.approx(model.crispness_, rel=1e-10)
    assert other.membership_state_ == model.membership_state_
    for name, column in model.history_.items():
        np.testing.assert_allclose(other.history_[name], column, rtol=1e-8, atol=1e-11)


def copies(model):
    from sklearn.base import clone

    return clone(model), clone(model)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_fit_of_uneven_chunks_is_the_fit_in_memory_from_the_same_seed(blobs, model):
    here, there = copies(model)
    fitted_alike(here.fit(blobs), there.fit(da.from_array(blobs, chunks=(UNEVEN, 5))))


@settings(quick, max_examples=10)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=12).filter(lambda sizes: sum(sizes) >= 8), st.booleans())
def test_no_chunking_changes_memberships(sizes, weighted):
    rng = np.random.default_rng(sum(sizes))
    X = rng.standard_normal((sum(sizes), 2)) + 3 * rng.integers(2, size=(sum(sizes), 1))
    weights = rng.integers(1, 4, size=len(X)).astype(float) if weighted else None
    model = PlainAFCM(2, init=X[:2], max_iter=4)
    with warnings.catch_warnings():  # so few sweeps
        warnings.simplefilter("ignore", AFCMWarning)
        here = model.fit(X, sample_weight=weights).memberships_
        there = model.fit(da.from_array(X, chunks=(tuple(sizes), 2)), sample_weight=weights).memberships_
    assert there.chunks == (tuple(sizes), (2,))
    assert np.abs(there.compute() - here).max() <= 1e-10


@pytest.mark.parametrize("model", [PlainAFCM(4, random_state=0, n_init=1), FCM(4, random_state=0, n_init=1)], ids=str)
def test_single_row_chunks(blobs, model):
    here, there = copies(model)
    fitted_alike(here.fit(blobs[:40]), there.fit(da.from_array(blobs[:40], chunks=(1, 5))))


@pytest.mark.parametrize("kind", ["memberships", "centers"])
def test_given_starts(blobs, kind):
    init = np.random.default_rng(0).dirichlet(np.ones(4), size=700) if kind == "memberships" else blobs[:4]
    here, there = copies(PlainAFCM(4, init=init))
    chunks = da.from_array(blobs, chunks=(UNEVEN, 5))
    fitted_alike(here.fit(blobs), there.fit(chunks))
    fitted_alike(here, PlainAFCM(4, init=da.from_array(init, chunks=(100, -1))).fit(chunks))


def test_columns_in_chunks_are_put_together(blobs):
    here, there = copies(ONE)
    fitted_alike(here.fit(blobs), there.fit(da.from_array(blobs, chunks=(200, 2))))


@pytest.mark.parametrize("how", ["numpy", "dask", "scalar"])
def test_weights(blobs, how):
    weights = np.random.default_rng(1).integers(0, 3, size=700).astype(float)
    weights[300:450] = 0  # a chunk without any
    if how == "scalar":
        weights = 2.0
    given_ = da.from_array(weights, chunks=(170,)) if how == "dask" else weights
    here, there = copies(ONE)
    chunks = da.from_array(blobs, chunks=((300, 150, 250), 5))
    fitted_alike(here.fit(blobs, sample_weight=weights), there.fit(chunks, sample_weight=given_))


def test_random_memberships_are_the_same_however_x_is_chunked(blobs):
    fits = [
        PlainAFCM(4, init="random", n_init=1, random_state=5).fit(da.from_array(blobs, chunks=(size, 5)))
        for size in (64, 700)
    ]
    assert np.abs(fits[0].memberships_.compute() - fits[1].memberships_.compute()).max() <= 1e-10
    other = PlainAFCM(4, init="random", n_init=1, random_state=6).fit(da.from_array(blobs, chunks=(64, 5)))
    assert other.history_["objective"][0] != fits[0].history_["objective"][0]


def test_k_means_seeds_from_a_sample_are_those_in_memory(blobs, monkeypatch):
    monkeypatch.setattr("afcm.fitting.starts.SEED_SAMPLE", 50)
    here, there = copies(ONE)
    fitted_alike(here.fit(blobs), there.fit(da.from_array(blobs, chunks=(UNEVEN, 5))))


def test_a_sample_of_very_many_rows_is_drawn_without_a_list_of_all():
    from afcm.fitting.starts import draw_rows

    rows = draw_rows(10**12, 1000, np.random.RandomState(0))
    assert np.unique(rows).size == 1000
    assert rows.max() > 9e11
    np.testing.assert_array_equal(rows, draw_rows(10**12, 1000, np.random.RandomState(0)))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_methods_are_lazy_and_agree(blobs, model):
    model.fit(blobs)
    chunks = da.from_array(blobs, chunks=(UNEVEN, 5))
    for name in ("predict", "predict_proba", "transform", "score_samples"):
        if hasattr(model, name):
            there = getattr(model, name)(chunks)
            assert isinstance(there, da.Array)
            assert there.chunks[0] == UNEVEN
            here = getattr(model, name)(blobs)
            assert there.dtype == here.dtype
            np.testing.assert_allclose(there.compute(), here, atol=1e-12)
    assert model.score(chunks) == pytest.approx(model.score(blobs), rel=1e-12)


def test_float32_stays_float32_and_integers_become_float64(blobs):
    single = blobs.astype(np.float32)
    here, there = copies(PlainAFCM(4, init=blobs[:4]))
    here.fit(single), there.fit(da.from_array(single, chunks=(UNEVEN, 5)))
    # A run ends when J stands still to 1e-8 a sample. J is flat at its minimum, so memberships may differ by some 1e-4,
    # and which sweep is the last depends on how the machine's BLAS rounds.
    assert np.abs(there.memberships_.compute() - here.memberships_).max() <= 1e-3
    assert there.memberships_.dtype == there.cluster_centers_.dtype == np.float32
    whole = np.round(blobs).astype(int)
    fitted_alike(here.fit(whole), there.fit(da.from_array(whole, chunks=(UNEVEN, 5))))


def test_compiled_looks_at_chunks_give_the_same_and_confirm_the_change_on_all(blobs, monkeypatch):
    compiled = pytest.importorskip("afcm.compiled.centers", reason="the extra afcm[fast] is not installed")
    here, there = copies(PlainAFCM(4, random_state=0, n_init=1))
    here.fit(blobs)
    monkeypatch.setattr(compiled, "WORTH_COMPILING", 0)
    monkeypatch.setattr("afcm.compiled.dispatch.WORTH_FUSING", 0)
    monkeypatch.setattr(compiled, "WATCHED_ROWS", 10)
    there.fit(da.from_array(blobs, chunks=(350, 5)))
    assert there.n_iter_ == here.n_iter_
    assert np.abs(there.memberships_.compute() - here.memberships_).max() <= 1e-10


def test_batches_in_chunks(blobs):
    here, there = copies(PlainAFCM(4, random_state=0, n_init=1))
    for batch in (blobs[:400], blobs[400:]):
        here.partial_fit(batch)
        there.partial_fit(da.from_array(batch, chunks=(90, 5)))
    np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_, atol=1e-10)
    assert there.n_batches_ == 2


def test_x_is_read_once_a_pass_and_never_kept(blobs):
    reads = []

    def read(rows):
        reads.append(len(rows))
        return rows

    chunks = da.from_array(blobs, chunks=(350, 5)).map_blocks(read, dtype=float, meta=np.empty((0, 0)))
    model = PlainAFCM(4, random_state=0, n_init=1).fit(chunks)
    assert max(reads) == 350  # never two chunks at a time
    # finite? mean, scatter, summary; sample, first γ, first look; and a chunk for what is different
    assert len(reads) == 2 * (7 + model.n_iter_) + 1
