"""Bad input: an error that names the parameter, its value and the way out, and never NaN out."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp

from afcm import AFCM, GeneralizedGaussianMixture, PlainAFCM
from afcm.baselines import CDKM, FKPS, SpectralBaseline
from afcm.catalogue import CATALOGUE
from afcm.estimators.validation import count_distinct
from afcm.exceptions import AFCMWarning, MergedClustersWarning

X = np.random.default_rng(0).standard_normal((40, 3))
BOTH = [AFCM, PlainAFCM]
EVERY = [entry.cls for entry in CATALOGUE]
WEIGHTED = [entry.cls for entry in CATALOGUE if entry.takes_weights]
PREDICTING = [entry.cls for entry in CATALOGUE if entry.predicts]


def with_value(value):
    bad = X.copy()
    bad[3, 1] = value
    return bad


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (with_value(np.nan), "NaN"),
        (with_value(np.inf), "infinity"),
        (np.array([["a", "b"], ["c", "d"]]), "column 0 holds text, 'a' in row 0"),
        (X[:, 0], "Expected 2D array"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((4, 0)), "0 feature"),
        (X[:4], "n_clusters=8 must be at most n_samples=4"),
        (np.ones((40, 3)), "n_clusters=8 must be at most 1, the number of different samples"),
        (np.repeat(X[:4], 9, axis=0), "n_clusters=8 must be at most 4, the number of different samples"),
        (X * 1e200, "overflow"),
        (X * 1e-200, "vanish"),
    ],
)
def test_data(model, data, message):
    with pytest.raises(ValueError, match=message):
        model(8).fit(data)


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 must be at least 1"),
        ({"n_clusters": -3}, "n_clusters=-3 must be at least 1"),
        ({"n_clusters": 2.5}, r"n_clusters=2\.5 must be an integer"),
        ({"n_clusters": True}, "n_clusters=True must be an integer"),
        ({"max_iter": 0}, "max_iter=0 must be at least 1"),
        ({"tol": -1.0}, r"tol=-1\.0 must be at least 0"),
        ({"tol": np.nan}, "tol=nan must be a finite number"),
        ({"n_init": 0}, "n_init=0 must be at least 1"),
        ({"init": "best"}, r"init='best' is not known; use one of"),
        ({"init": np.ones((7, 7))}, r"init has shape \(7, 7\)"),
        ({"init": np.full((40, 2), 0.7)}, "init must have rows that sum to 1; row 0 sums to 1.4"),
        ({"init": np.full((40, 2), np.nan)}, "init holds memberships that are negative, NaN or infinite"),
        ({"init": np.full((2, 3), np.inf)}, "init holds centres that are NaN or infinite"),
    ],
)
def test_parameters(model, setting, message):
    with pytest.raises(ValueError, match=message):
        model(**({"n_clusters": 2} | setting)).fit(X)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_neighbors": 40}, "n_neighbors=40 must be below n_samples=40; use at most 39"),
        ({"n_neighbors": 0}, "n_neighbors=0 must be at least 1"),
        ({"n_neighbors": "many"}, "n_neighbors='many' must be an integer"),
        (
            {"kernel": "rbf"},
            r"kernel='rbf' is not known; use one of \['adaptive', 'binary', 'gaussian', 'local', 'sharpened'\]",
        ),
        ({"bandwidth": 0.0}, r"bandwidth=0\.0 must be positive"),
        ({"graph_weight": -1.0}, r"graph_weight=-1\.0 must be positive"),
        ({"graph_weight": "heavy"}, "graph_weight='heavy' must be a finite number"),
        ({"affinity": "cosine"}, "affinity='cosine' is not known"),
        ({"kernel": "gaussian", "bandwidth": 1e-3}, r"bandwidth=0\.001 is so small .* use about"),
    ],
)
def test_graph_parameters(setting, message):
    with pytest.raises(ValueError, match=message):
        AFCM(2, **setting).fit(X)


def similarity(change=None):
    W = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    if change is not None:
        change(W)
    return W


def negative(W):
    W[1, 2] = W[2, 1] = -0.5


def asymmetric(W):
    W[1, 2] += 0.3


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (similarity(negative), r"negative similarity \(-0\.5\)"),
        (similarity(asymmetric), r"not symmetric \(entries differ by up to 0\.3\)"),
        (similarity()[:, :20], "must be the square matrix"),
        (np.eye(40), "no similarity above 0"),
    ],
)
def test_precomputed_affinity(form, matrix, message):
    with pytest.raises(ValueError, match=message):
        AFCM(2, affinity="precomputed").fit(form(matrix))


@pytest.mark.filterwarnings("ignore::afcm.exceptions.HardMembershipsWarning")
def test_precomputed_prediction():
    model = AFCM(2, affinity="precomputed", random_state=0).fit(similarity())
    with pytest.raises(ValueError, match="negative similarity"):
        model.predict(-similarity()[:2])
    with pytest.raises(ValueError, match="features"):
        model.predict(similarity()[:2, :7])
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 40))).sum(), 1)
    with pytest.raises(ValueError, match="init='k-means\\+\\+' is not known"):
        AFCM(2, affinity="precomputed", init="k-means++").fit(similarity())
    with pytest.raises(ValueError, match="give memberships instead"):
        AFCM(2, affinity="precomputed", init=np.zeros((2, 40))).fit(similarity())


@pytest.mark.parametrize("model", BOTH)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(7), r"sample_weight has shape \(7,\), expected \(40,\)"),
        (-np.ones(40), "sample_weight must be finite and not negative"),
        (np.full(40, np.nan), "sample_weight must be finite"),
        (np.zeros(40), "sample_weight is zero for every sample"),
        (np.eye(1, 40)[0], "n_clusters=2 must be at most 1, the number of different samples"),
    ],
)
def test_sample_weights(model, weights, message):
    with pytest.raises(ValueError, match=message):
        model(2).fit(X, sample_weight=weights)


@pytest.mark.filterwarnings("ignore::afcm.exceptions.HardMembershipsWarning")
@pytest.mark.parametrize("model", BOTH)
def test_failed_fits_lose_nothing(model):
    fitted = model(2, random_state=0).fit(X)
    labels = fitted.labels_.copy()
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit(with_value(np.nan))
    np.testing.assert_array_equal(fitted.labels_, labels)
    np.testing.assert_array_equal(fitted.predict(X), labels)


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.ma.masked_equal(X, X[3, 1]), "X is a masked array with 1 masked values, .* drop their rows"),
        ((1e6 * X).astype("datetime64[s]"), r"X holds dates or times \(dtype datetime64\[s\]\).* give numbers"),
        ((1e6 * X).astype("timedelta64[s]"), r"X holds dates or times"),
        ({"a": [1.0, 2.0]}, "X is a dict; give a table of numbers"),
        (None, "X is None; give a table of numbers"),
        ("X.csv", "X is a str; give a table of numbers"),
        (1e160 * X, "X has values up to .* squared distances overflow in float64; rescale X"),
        (np.full((40, 3), 1e300) * np.sign(X), "overflow"),
    ],
)
def test_what_numpy_would_take_without_a_word(model, data, message):
    with pytest.raises(ValueError, match=message):
        model(2).fit(data)


@pytest.mark.parametrize("model", WEIGHTED)
def test_squares_that_overflow_in_single_precision(model):
    with pytest.raises(ValueError, match="squared distances overflow in float32; rescale X"):
        model(2).fit((1e19 * X).astype(np.float32))


@pytest.mark.parametrize("model", [model for model in WEIGHTED if model is not AFCM])
def test_squares_that_vanish(model):
    for data in (1e-160 * X, (1e-20 * X).astype(np.float32)):
        with pytest.raises(ValueError, match=r"squared distances vanish in float.*; rescale X"):
            model(2).fit(data)


@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")
@pytest.mark.parametrize("model", PREDICTING)
def test_new_samples_far_away(model):
    fitted = model(2, random_state=0).fit(X)
    for size in (1e8, 1e40, 1e150):
        far = fitted.predict_proba(np.full((2, 3), size))
        np.testing.assert_allclose(far.sum(axis=1), 1)
    with pytest.raises(ValueError, match=r"X has values up to 1e\+200 .* or remove such samples"):
        fitted.predict(np.full((2, 3), 1e200))


@pytest.mark.parametrize("model", WEIGHTED)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(40, 1e200), r"sample_weight goes from 1e\+200 to 1e\+200: .* divide them by their mean"),
        (np.full(40, 1e-14), "sample_weight goes from 1e-14 to 1e-14"),
        (10.0 ** np.linspace(-40, 0, 40), "sample_weight goes from 1e-40 to 1: .* give weight 0"),
        (np.array(["heavy"] * 40), "sample_weight must hold numbers, one per sample"),
    ],
)
def test_weights_whose_sums_are_no_numbers(model, weights, message):
    with pytest.raises(ValueError, match=message):
        model(2).fit(X, sample_weight=weights)


def test_a_scatter_matrix_that_no_memory_holds():
    wide = np.eye(4, 200_000)
    message = "covariance_type='full' with 200000 features needs .* GiB of memory, more than there is; use 'diag'"
    with pytest.raises(ValueError, match=message):
        GeneralizedGaussianMixture(2).fit(wide)


def test_a_hundred_thousand_columns_are_counted_in_no_time():
    wide = np.random.default_rng(0).standard_normal((20, 100_000))
    begin = time.process_time()
    assert count_distinct(np.repeat(wide, 2, axis=0), None, 30) == 20
    assert time.process_time() - begin < 5


def test_baselines_say_when_clusters_stay_empty():
    three = np.repeat(10 * np.eye(3), 20, axis=0)
    with pytest.warns(MergedClustersWarning, match="FKPS: only 2 of 3 clusters have samples; .* more n_init"):
        FKPS(3, random_state=0).fit(three)


def test_islands_of_duplicates_are_said():
    copies = np.repeat(X, [8] + [1] * 39, axis=0)
    with pytest.warns(AFCMWarning, match="a sample is there 8 times, more than n_neighbors=5.* remove duplicates"):
        SpectralBaseline(2, random_state=0).fit(copies)


NO_NUMBERS = {
    "complex": np.eye(3) + 0.5j,
    "words": [["a", "b", "c"]] * 3,
    "lengths": [[1.0, 2.0, 3.0], [4.0]],
    "dict": {"a": 1},
}


@pytest.mark.parametrize("model", [PlainAFCM, AFCM, CDKM])
@pytest.mark.parametrize("init", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_a_start_that_holds_no_real_numbers_is_named(model, init):
    with pytest.raises(ValueError, match=r"init=.* is no array of numbers; give rows of equal length, or a name"):
        model(3, init=init).fit(X)
