"""What is not fit to be clustered is refused in words, without gathering it."""

from __future__ import annotations

import numpy as np
import pytest

from afcm import FCM, GeneralizedGaussianMixture, PlainAFCM
from afcm.exceptions import HardMembershipsWarning

dask = pytest.importorskip("dask", reason="the extra afcm[dask] is not installed")
da = pytest.importorskip("dask.array", reason="the extra afcm[dask] is not installed")


@pytest.fixture(autouse=True)
def at_once():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def chunks(blobs):
    return da.from_array(blobs, chunks=(200, 5))


@pytest.fixture
def frame(blobs):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    dd = pytest.importorskip("dask.dataframe", reason="the extra afcm[dask] is not installed")
    return dd.from_pandas(pd.DataFrame(blobs, columns=list("abcde")), npartitions=3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_one_bad_number_in_any_chunk(blobs, value):
    blobs = blobs.copy()
    blobs[650, 3] = value
    chunks = da.from_array(blobs, chunks=(200, 5))
    with pytest.raises(ValueError, match="NaN or infinity"):
        PlainAFCM(4).fit(chunks)
    model = PlainAFCM(4, random_state=0, n_init=1).fit(chunks[:600])
    lazy = model.predict(chunks)
    assert lazy[:600].compute().shape == (600,)
    with pytest.raises(ValueError, match="NaN or infinity"):
        lazy.compute()


def test_numbers_too_large_to_square(blobs):
    with pytest.raises(ValueError, match=r"overflow.*rescale"):
        PlainAFCM(4).fit(da.from_array(1e200 * blobs, chunks=(200, 5)))


def test_unknown_chunk_sizes_are_counted_and_x_is_left_as_it_was(blobs):
    chunks = da.from_array(blobs, chunks=(200, 5))
    some = chunks[chunks[:, 0] > 0]
    model = PlainAFCM(3, random_state=0, n_init=1).fit(some)
    assert np.isnan(some.shape[0])
    assert model.memberships_.shape == ((blobs[:, 0] > 0).sum(), 3)


def test_an_unknown_number_of_columns_is_refused(chunks, blobs):
    some = chunks[:, chunks[0] > 0]
    assert np.isnan(some.shape[1])
    with pytest.raises(ValueError, match=r"unknown number of columns; call X.compute_chunk_sizes\(\)"):
        PlainAFCM(4).fit(some)
    model = PlainAFCM(4, random_state=0, n_init=1).fit(some.compute_chunk_sizes())
    assert model.n_features_in_ == (blobs[0] > 0).sum()


def test_weights_of_unknown_chunk_sizes_are_counted_and_left_as_they_were(chunks, blobs):
    there = chunks[:, 0] > 0
    weights = abs(chunks[:, 1])[there]
    model = PlainAFCM(3, random_state=0, n_init=1).fit(chunks[there], sample_weight=weights)
    assert np.isnan(weights.shape[0])
    some = blobs[blobs[:, 0] > 0]
    here = PlainAFCM(3, random_state=0, n_init=1).fit(some, sample_weight=abs(some[:, 1]))
    np.testing.assert_allclose(model.cluster_centers_, here.cluster_centers_, atol=1e-9)
    with pytest.raises(ValueError, match=r"sample_weight has shape .* one weight per sample"):
        PlainAFCM(3).fit(chunks, sample_weight=weights)


def test_data_frames_give_their_names(frame, blobs):
    model = PlainAFCM(4, random_state=0, n_init=1).fit(frame)
    assert list(model.feature_names_in_) == list("abcde")
    here = PlainAFCM(4, random_state=0, n_init=1).fit(blobs)
    assert np.abs(model.memberships_.compute() - here.memberships_).max() <= 1e-10
    assert model.predict(frame).compute().shape == (700,)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))
    weighted = PlainAFCM(4, random_state=0, n_init=1).fit(frame, sample_weight=abs(frame["a"]))
    again = PlainAFCM(4, random_state=0, n_init=1).fit(blobs, sample_weight=abs(blobs[:, 0]))
    np.testing.assert_allclose(weighted.cluster_centers_, again.cluster_centers_, atol=1e-9)


def test_columns_of_words(frame):
    with pytest.raises(ValueError, match="not numbers: f"):
        PlainAFCM(4).fit(frame.assign(f=frame["a"].astype(str)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X: X[:, 0], "1 dimensions"),
        (lambda X: X[:0], "at least 1 sample"),
        (lambda X: X.astype(complex), "real numbers"),
        (lambda X: X.map_blocks(str, dtype=object, meta=np.empty((0, 0), dtype=object)), "real numbers"),
        (da.ones_like, "at most 1, the number of different samples"),
        (lambda X: X[:3], "n_clusters=4 must be at most n_samples=3"),
    ],
)
def test_other_arrays_are_refused(chunks, change, words):
    with pytest.raises(ValueError, match=words):
        PlainAFCM(4).fit(change(chunks))


def test_a_device_does_not_go_with_chunks(chunks):
    with pytest.raises(ValueError, match="device='cuda'"):
        PlainAFCM(4, device="cuda").fit(chunks)


def test_another_number_of_columns(chunks):
    model = FCM(4, random_state=0, n_init=1).fit(chunks)
    with pytest.raises(ValueError, match="4 features, but FCM is expecting 5"):
        model.predict(chunks[:, :4])


def test_models_that_need_all_samples_say_so(chunks):
    with pytest.raises(ValueError, match=r"in memory.*PlainAFCM"):
        GeneralizedGaussianMixture(4).fit(chunks)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (lambda n: da.ones(n + 1), "one weight per sample"),
        (da.zeros, "zero for every sample"),
        (lambda n: -da.ones(n), "not negative"),
        (lambda n: da.full(n, np.nan), "finite"),
        (lambda n: da.full(n, 1e300), "overflow"),
    ],
)
def test_bad_weights(chunks, weights, words):
    with pytest.raises(ValueError, match=words):
        PlainAFCM(4).fit(chunks, sample_weight=weights(700))


@pytest.mark.parametrize(
    ("init", "words"),
    [
        (lambda: da.ones((700, 3)), r"init has shape \(700, 3\)"),
        (lambda: da.ones((700, 4)), "the worst row sums to 4"),
        (lambda: da.full((700, 4), np.nan), "NaN"),
    ],
)
def test_bad_starts(chunks, init, words):
    with pytest.raises(ValueError, match=words):
        PlainAFCM(4, init=init()).fit(chunks)


def test_samples_that_differ_only_in_the_last_chunk(blobs):
    X = np.concatenate([np.ones((900, 5)), blobs[:3]])
    with pytest.warns(HardMembershipsWarning):
        model = PlainAFCM(4, random_state=0, n_init=1).fit(da.from_array(X, chunks=(100, 5)))
    assert np.unique(model.labels_.compute()).size == 4


def test_model_files_say_what_to_do_with_lazy_memberships(chunks, tmp_path):
    from afcm import load_model, save_model
    from afcm.modelfiles import ModelFileError

    model = PlainAFCM(4, random_state=0, n_init=1).fit(chunks)
    with pytest.raises(ModelFileError, match=r"memberships_: .*Dask array.*compute"):
        save_model(model, tmp_path / "model.afcm")
    model.memberships_, model.labels_ = dask.compute(model.memberships_, model.labels_)
    save_model(model, tmp_path / "model.afcm")
    np.testing.assert_array_equal(load_model(tmp_path / "model.afcm").predict(chunks).compute(), model.labels_)


def test_a_fit_of_chunks_can_be_pickled(chunks):
    import pickle

    model = PlainAFCM(4, random_state=0, n_init=1).fit(chunks)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.labels_.compute(), model.labels_.compute())
