"""`TableScaler`: equal say of columns, categories, missing values, weights, and the way back."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from afcm import AFCM
from afcm.exceptions import UnknownCategoryWarning
from afcm.tables import TableScaler
from tests.tables.customers import make_customers


@parametrize_with_checks([TableScaler(), TableScaler(categories="equal")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def groups(n=400, seed=0):
    """Three groups that the columns age and income tell, and a category of each group."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 3, n)
    table = {
        "age": random.normal(30 + 20 * group, 2),
        "income": random.normal(30_000 + 20_000 * group, 2000),
        "plan": np.array(["free", "paid", "gold"], dtype=object)[group],
    }
    return table, group


def mean_squared_distance(Z):
    return np.mean(np.sum((Z[:, None] - Z[None]) ** 2, axis=2))


def test_numbers_have_a_range_of_1():
    table, _ = groups()
    Z = TableScaler().fit_transform({name: table[name] for name in ("age", "income")})
    np.testing.assert_allclose(np.ptp(Z, axis=0), 1)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)


def test_an_outlier_does_not_take_the_say_from_its_column():
    table, _ = groups()
    clean = TableScaler().fit_transform(table)
    table["income"] = np.append(table["income"][:-1], 1e9)
    Z = TableScaler().fit_transform(table)
    np.testing.assert_allclose(np.ptp(Z[:-1, 1]), np.ptp(clean[:-1, 1]), rtol=1e-3)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.5, 0.3, 0.2)])
def test_categories_have_the_mean_squared_distance_of_a_number(shares):
    """By all pairs, whatever the number of categories and how often they are."""
    table, _ = groups(200)
    names = np.repeat(np.array(["a", "b", "c"][: len(shares)], dtype=object), [int(200 * share) for share in shares])
    table["kind"] = np.random.default_rng(0).permutation(names)
    scaler = TableScaler(categories="equal").fit(table)
    Z, owner = scaler.transform(table), [name.split("=")[0] for name in scaler.get_feature_names_out()]
    found = {name: mean_squared_distance(Z[:, [own == name for own in owner]]) for name in table}
    wanted = (found["age"] + found["income"]) / 2
    assert found["kind"] == pytest.approx(wanted)
    assert found["plan"] == pytest.approx(wanted)
    assert set(scaler.column_weights_.values()) == {1}


def test_a_category_counts_as_far_as_the_other_columns_bear_it_out():
    table, _ = groups()
    random = np.random.default_rng(1)
    table["half"] = np.where(random.random(400) < 0.4, random.permutation(table["plan"]), table["plan"])
    table["chance"] = random.integers(0, 2, 400).astype(bool)
    weights = TableScaler().fit(table).column_weights_
    assert weights["age"] == 1
    assert weights["plan"] > 0.95
    assert 0.05 < weights["half"] < 0.5
    assert weights["chance"] == 0


def test_many_columns_by_chance_do_not_hide_one_that_tells():
    table, _ = groups()
    random = np.random.default_rng(1)
    table |= {f"chance {j}": random.integers(0, 2, 400).astype(bool) for j in range(6)}
    weights = TableScaler().fit(table).column_weights_
    assert weights["plan"] > 0.9
    assert max(weights[f"chance {j}"] for j in range(6)) < 0.03


def test_a_weight_of_its_own_lets_a_category_count_like_a_number():
    table, _ = groups()
    table["chance"] = np.random.default_rng(1).integers(0, 2, 400).astype(bool)
    scaler = TableScaler(weights={"chance": 1, "income": 2}).fit(table)
    assert scaler.column_weights_["chance"] == 1
    assert scaler.column_weights_["income"] == 2
    plain, Z = TableScaler().fit_transform(table), scaler.transform(table)
    assert mean_squared_distance(Z[:, [1]]) == pytest.approx(2 * mean_squared_distance(plain[:, [1]]))


def test_weight_0_leaves_a_column_out():
    table, _ = groups()
    scaler = TableScaler(weights={"income": 0}).fit(table)
    assert "income" not in scaler.get_feature_names_out()
    assert "column 'income' has weight 0; left out" in scaler.remarks_


def test_copies_count_as_one_column():
    """Also copies of opposite sign, of another unit, and complements of a yes/no column."""
    table, _ = groups()
    alone = TableScaler().fit_transform({"age": table["age"], "income": table["income"]})
    scaler = TableScaler().fit({**table, "cents": -100 * table["income"]})
    assert scaler.column_weights_["income"] == scaler.column_weights_["cents"] == pytest.approx(0.5)
    copied = TableScaler().fit_transform({"age": table["age"], "income": table["income"], "c": 3 - table["income"]})
    np.testing.assert_allclose(
        np.sum((copied[0] - copied) ** 2, axis=1), np.sum((alone[0] - alone) ** 2, axis=1), rtol=1e-9, atol=1e-12
    )
    assert "column 'income' says the same as 'cents': they share one weight" in scaler.remarks_


def test_two_copies_of_a_column_do_not_bear_each_other_out():
    table, _ = groups()
    table["woman"] = np.random.default_rng(1).integers(0, 2, 400).astype(bool)
    table["man"] = ~table["woman"]
    weights = TableScaler().fit(table).column_weights_
    assert weights["woman"] == weights["man"] == 0


def test_a_table_of_unrelated_categories_keeps_them_all():
    random = np.random.default_rng(0)
    table = {name: random.choice(np.array(["a", "b"], dtype=object), 300) for name in ("x", "y")}
    assert set(TableScaler().fit(table).column_weights_.values()) == {1}


def test_numbers_with_few_values_are_discrete_and_those_with_more_are_not():
    table, _ = groups()
    random = np.random.default_rng(1)
    table |= {"stars": random.integers(1, 6, 400), "visits": random.integers(0, 12, 400)}
    weights = TableScaler().fit(table).column_weights_
    assert weights["stars"] == 0
    assert weights["visits"] == 1


def test_identifiers_and_constants_are_left_out_with_a_word():
    table, _ = groups()
    table |= {"name": np.array([f"C{i:04}" for i in range(400)], dtype=object), "country": ["FR"] * 400}
    table |= {"zero": np.zeros(400), "empty": [None] * 400}
    scaler = TableScaler().fit(table)
    assert [name.split("=")[0] for name in scaler.get_feature_names_out()] == ["age", "income", *["plan"] * 3]
    assert scaler.remarks_ == [
        "column 'name' has 400 different texts in 400 rows, as names and numbers of samples do; left out",
        "column 'country' has one value only ('FR') and cannot tell samples apart; left out",
        "column 'zero' has one value only (0) and cannot tell samples apart; left out",
        "column 'empty' has no value and cannot tell samples apart; left out",
    ]


def test_rare_texts_share_a_category():
    table, _ = groups()
    towns = np.array([f"town {i % 40}" for i in range(400)], dtype=object)
    scaler = TableScaler(max_categories=4, categories="equal").fit({**table, "town": towns})
    names = scaler.get_feature_names_out()[-4:]
    assert names.tolist() == ["town=town 0", "town=town 1", "town=town 10", "town=(other)"]
    Z = scaler.transform({**{name: values[:2] for name, values in table.items()}, "town": ["town 7", "never seen"]})
    np.testing.assert_array_equal(Z[0, -4:], Z[1, -4:])


def test_a_missing_value_adds_less_than_the_mean_would():
    """Distances to rows of the same group, with a value lost and with the value known."""
    table, group = groups()
    complete = TableScaler().fit(table)
    lost = {name: values.copy() for name, values in table.items()}
    lost["income"][::20] = np.nan
    Z, holes = complete.transform(table)[::20], complete.transform(lost)[::20]
    with_mean = holes.copy()
    with_mean[:, 1] = 0
    all_rows = complete.transform(table)
    same = group[::20][:, None] == group[None]
    known, filled, mean = (
        np.sum((A[:, None] - all_rows[None]) ** 2, axis=2)[same].mean() for A in (Z, holes, with_mean)
    )
    assert filled <= known
    assert mean > 2 * known


def test_fit_transform_and_transform_agree_with_missing_values_and_columns_left_out():
    table, _ = make_customers(0)
    scaler = TableScaler()
    Z = scaler.fit_transform(table)
    np.testing.assert_allclose(scaler.transform(table), Z, rtol=1e-12)
    assert np.isfinite(Z).all()


def test_a_row_is_coded_by_itself():
    table, _ = make_customers(0)
    scaler = TableScaler().fit(table)
    one = {name: values[5:6] for name, values in table.items()}
    np.testing.assert_allclose(scaler.transform(one), scaler.transform(table)[5:6], rtol=1e-12)


def test_an_unseen_category_is_a_missing_value_with_a_warning():
    table, _ = groups()
    scaler = TableScaler().fit(table)
    row = {"age": [31.0], "income": [31_000.0], "plan": ["free"]}
    with pytest.warns(UnknownCategoryWarning, match="column 'plan' holds 'silver', which fit did not see"):
        unseen = scaler.transform({**row, "plan": ["silver"]})
    np.testing.assert_array_equal(unseen, scaler.transform({**row, "plan": [None]}))
    near = {plan: np.sum((unseen - scaler.transform({**row, "plan": [plan]})) ** 2) for plan in ("free", "paid")}
    assert near["free"] < 0.2 * near["paid"]  # age and income say which it should be


def test_the_way_back():
    table, _ = groups(60)
    start = np.datetime64("2020-01-01T12:00")
    table |= {"since": start + np.arange(60) * np.timedelta64(36, "h"), "member": np.arange(60) % 3 == 0}
    table["country"] = np.full(60, "FR", dtype=object)
    scaler = TableScaler(categories="equal")
    back = scaler.inverse_transform(scaler.fit_transform(table))
    assert list(back) == list(table)
    for name in ("age", "income"):
        np.testing.assert_allclose(back[name], table[name])
    for name in ("plan", "member", "country"):
        np.testing.assert_array_equal(back[name], table[name])
    np.testing.assert_array_equal(back["since"], table["since"])


def test_the_way_back_of_an_array_is_an_array():
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[:, 1] = 7
    scaler = TableScaler()
    np.testing.assert_allclose(scaler.inverse_transform(scaler.fit_transform(X)), X)
    with pytest.raises(ValueError, match=r"X has shape \(30, 3\); give coordinates of shape \(n, 2\)"):
        scaler.inverse_transform(X)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_every_library_gives_the_same_coordinates(make):
    table, _ = make_customers(1)
    given = {name: values.tolist() for name, values in table.items()}
    given["income"] = [None if np.isnan(value) else value for value in table["income"]]
    given["since"] = [datetime.date(2020, 1, 1) + datetime.timedelta(i % 77) for i in range(400)]
    expected = TableScaler().fit_transform(given)
    scaler = TableScaler().fit(make(given))
    np.testing.assert_allclose(scaler.transform(make(given)), expected)
    assert scaler.feature_names_in_.tolist() == list(given)


def test_columns_of_a_dict_are_found_by_name():
    table, _ = groups()
    scaler = TableScaler().fit(table)
    turned = dict(reversed(table.items()))
    np.testing.assert_array_equal(scaler.transform({**turned, "more": table["age"]}), scaler.transform(table))
    with pytest.raises(ValueError, match="X lacks the column 'plan' of the fit; it has age, income"):
        scaler.transform({name: table[name] for name in ("age", "income")})
    with pytest.raises(ValueError, match="column 'age' was number in fit and is text now"):
        scaler.transform({**table, "age": table["plan"]})


def test_pandas_out():
    table, _ = groups()
    scaler = TableScaler().set_output(transform="pandas").fit(pd.DataFrame(table))
    frame = scaler.transform(pd.DataFrame(table))
    assert sorted(frame.columns) == ["age", "income", "plan=free", "plan=gold", "plan=paid"]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"weights": {"incme": 2}}, "weights names 'incme', which is no column; X has age, income, plan"),
        ({"weights": {"income": -1}}, r"weights\['income'\]=-1 must be a finite number of at least 0"),
        ({"weights": [1, 2]}, r"weights=\[1, 2\] must be a dict"),
        ({"categories": "all"}, "categories='all' is not known"),
        ({"max_categories": 1}, "max_categories=1 must be a whole number of at least 2"),
    ],
)
def test_bad_parameters_are_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        TableScaler(**parameters).fit(groups()[0])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "X has no columns"),
        ({"a": [1.0]}, "n_samples=1"),
        ({"a": [1, 1], "b": [None, None]}, "no column is left to tell samples apart: column 'a' has one value only"),
    ],
)
def test_tables_without_anything_to_tell_are_refused(table, words):
    with pytest.raises(ValueError, match=words):
        TableScaler().fit(table)


def test_clones_and_pipelines():
    table, group = groups()
    model = make_pipeline(TableScaler(weights={"age": 2}), AFCM(3, random_state=0))
    labels = clone(model).fit(pd.DataFrame(table))[-1].labels_
    assert adjusted_rand_score(group, labels) == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_yes_no_column_by_chance_does_not_hide_the_groups(seed):
    table, group = make_customers(seed)
    labels = AFCM(3, random_state=0).fit(TableScaler().fit_transform(table)).labels_
    assert adjusted_rand_score(group, labels) > 0.8
    equal = TableScaler(categories="equal").fit_transform(table)
    assert adjusted_rand_score(group, AFCM(3, random_state=0).fit(equal).labels_) < 0.6
