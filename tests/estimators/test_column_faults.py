"""Text, missing values and columns of other units: errors and a warning that name the column and the way out."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from afcm import AFCM, PlainAFCM, select_n_clusters
from afcm.catalogue import CATALOGUE
from afcm.datasets import make_rings
from afcm.estimators.column_faults import decides_neighbors, warn_of_scale
from afcm.exceptions import AFCMWarning, ScaleWarning
from afcm.tables import TableScaler
from tests.tables.customers import make_customers

EVERY = [entry.cls for entry in CATALOGUE]
WAY_OUT = "leave the column out, or make coordinates of such columns with afcm.tables.TableScaler"


def frame(**columns):
    random = np.random.default_rng(0)
    return pd.DataFrame({"age": random.normal(size=40), "income": random.normal(size=40), **columns})


@pytest.mark.parametrize("model", EVERY)
@pytest.mark.parametrize("make", [lambda table: table, pl.from_pandas], ids=["pandas", "polars"])
def test_a_text_column_is_named_with_the_way_out(model, make):
    table = make(frame(name=[f"C{i:04}" for i in range(40)]))
    with pytest.raises(ValueError, match=f"column 'name' holds text, 'C0000' in row 0; {WAY_OUT}"):
        model(2).fit(table)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (["free", "paid"] * 20, "column 'plan' holds text, 'free' in row 0"),
        ([*range(39), "n/a"], "column 'plan' holds text, 'n/a' in row 39"),
        (pd.Categorical(["free", "paid"] * 20), "column 'plan' holds text, 'free' in row 0"),
        ([datetime.date(2024, 5, 1)] * 40, "column 'plan' holds a date in row 0"),
        (pd.date_range("2024-05-01", periods=40), "column 'plan' holds dates or times"),
    ],
)
def test_the_value_is_named(column, words):
    with pytest.raises(ValueError, match=words):
        AFCM(2).fit(frame(plan=column))


def test_text_in_an_array_is_named_by_the_number_of_its_column():
    X = frame().to_numpy().astype(object)
    X[7, 1] = "many"
    with pytest.raises(ValueError, match="column 1 holds text, 'many' in row 7"):
        AFCM(2).fit(X)


def test_objects_that_are_no_text_keep_the_error_of_the_conversion():
    X = frame().to_numpy().astype(object)
    X[7, 1] = {}
    with pytest.raises(TypeError, match="argument must be a string or a real number"):
        AFCM(2).fit(X)


@pytest.mark.parametrize("model", EVERY)
def test_missing_values_are_named_with_the_way_out(model):
    table = frame()
    table.loc[[7, 9], "income"] = np.nan
    words = "Input X contains NaN: column 'income' lacks 2 of 40 values, the first in row 7; fill them with afcm.tables"
    with pytest.raises(ValueError, match=words):
        model(2).fit(table)
    table.loc[[7, 9], "income"] = [1, -np.inf]
    with pytest.raises(ValueError, match="Input X contains infinity: column 'income' in row 9; correct the value"):
        model(2).fit(table)


def test_new_samples_with_missing_values_are_named_too():
    model = AFCM(2, random_state=0).fit(frame())
    new = frame().iloc[:3].copy()
    new.iloc[1, 0] = np.nan
    with pytest.raises(ValueError, match="column 'age' lacks 1 of 3 values, the first in row 1"):
        model.predict(new)


def test_missing_values_of_sparse_samples_are_named():
    X = frame().to_numpy().copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="column 1 lacks 1 of 40 values, the first in row 3"):
        AFCM(2).fit(sp.csr_array(X))


@pytest.mark.parametrize(("value", "words"), [("x", "column 'income' holds text"), (np.nan, "column 'income' lacks 1")])
def test_select_names_the_column_too(value, words):
    table = frame().astype(object)
    table.iloc[3, 1] = value
    with pytest.raises(ValueError, match=words):
        select_n_clusters(table)


# --- one column above all ---


def unscaled(seed=0):
    table, _ = make_customers(seed)
    known = ~np.isnan(table["income"])
    return pd.DataFrame({name: table[name][known] for name in ("age", "income", "visits")})


def test_a_column_of_another_unit_is_named_with_the_way_out():
    words = "column 'income' holds 99 % of the squared distances, so that the other 2 have no say; scale X with afcm"
    with pytest.warns(ScaleWarning, match=words) as heard:
        AFCM(3, random_state=0).fit(unscaled())
    assert len([each for each in heard if each.category is ScaleWarning]) == 1


def test_arrays_name_the_number_of_the_column():
    with pytest.warns(ScaleWarning, match="column 12 holds"):
        AFCM(3, random_state=0).fit(load_wine().data)


@pytest.mark.parametrize(
    "X",
    [
        StandardScaler().fit_transform(unscaled()),
        TableScaler().fit_transform(unscaled()),
        load_iris().data,
        make_rings(random_state=0)[0],
        1e6 * np.random.default_rng(0).normal(size=(60, 1)),
        np.column_stack([1e6 * np.random.default_rng(0).normal(size=60), np.ones(60), np.full(60, 9e9)]),
        sp.csr_array(unscaled().to_numpy()),
        np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[0, 0], [9, 0], [18, 0]], 100, axis=0),
    ],
    ids=["standard", "table", "iris", "rings", "one column", "constant others", "sparse", "clusters in one direction"],
)
def test_nothing_is_said_where_nothing_can_be_done(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AFCMWarning)
        warnings.simplefilter("error", ScaleWarning)
        AFCM(2, random_state=0).fit(X)


def test_paper_mode_and_similarities_are_silent():
    X = unscaled().to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AFCMWarning)
        warnings.simplefilter("error", ScaleWarning)
        AFCM.paper(3, kernel="binary", random_state=0).fit(X)
        AFCM(2, affinity="precomputed", random_state=0).fit(np.diag(np.arange(1, 9.0)) + 1)
        PlainAFCM(3, random_state=0).fit(X)


def test_the_share_is_that_of_the_squared_distances():
    """Just below and just above 90 %, by all pairs; columns of many units that together hold the rest."""
    random = np.random.default_rng(0)
    X = StandardScaler().fit_transform(random.normal(size=(80, 9)))
    for factor, warns in ((11.9, False), (12.1, True)):
        Z = X * [factor, *[4] * 1, *[0.01] * 7]
        apart = np.sum((Z[:, None] - Z[None]) ** 2, axis=(0, 1))
        assert (apart[0] / apart.sum() > 0.9) == warns
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            warn_of_scale("AFCM", Z)
        assert [each.category for each in heard] == [ScaleWarning] * warns


@pytest.mark.parametrize("seed", range(3))
def test_most_neighbors_must_be_those_by_the_column_alone(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(200, 2)) + np.repeat([[0, 0], [20, 0]], 100, axis=0)
    assert not decides_neighbors(X, 0)
    assert decides_neighbors(X * [30, 1], 0)


def test_a_handful_of_samples_says_nothing_about_columns():
    few = np.array([[0.0, 1], [0, 2], [5, 1], [5, 2]])
    warn_of_scale("AFCM", np.repeat(few, 4, axis=0)[:19])
    with pytest.warns(ScaleWarning, match="column 0"):
        warn_of_scale("AFCM", np.random.default_rng(0).random((20, 2)) * [1000, 1])
