"""Tables as people have them on the command line: categories, dates, ids, missing values, weights."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import adjusted_rand_score

from afcm import load_model
from afcm.tables import TableScaler
from afcm.tabular import read_table
from tests.tables.customers import make_customers


@pytest.fixture
def customers(folder):
    """customers.csv as in the wild: a number for each customer, a name, a plan that goes with the groups."""
    table, group = make_customers(0)
    random = np.random.default_rng(0)
    plan = np.where(random.random(400) < 0.03, "paid", np.array(["free", "paid", "gold"])[group])
    days = np.datetime64("2020-01-01") + (400 * group + random.integers(0, 300, 400)).astype("timedelta64[D]")
    columns = {"name": [f"C{i:04}" for i in range(400)], **table, "country": ["FR"] * 400}
    columns["income"] = pa.array(table["income"], from_pandas=True)
    pa.csv.write_csv(pa.table(columns), folder / "customers.csv")
    pa.csv.write_csv(pa.table({**columns, "plan": plan, "since": days}), folder / "rich.csv")
    return group


def test_a_yes_no_column_does_not_cut_every_group_in_two(afcm, customers):
    done = afcm("fit", "customers.csv", "--clusters", "auto", "--out", "a.csv", "--json")
    found = json.loads(done.out)
    assert found["n_clusters"] == 3
    assert adjusted_rand_score(customers, read_table("a.csv")["label"].to_pylist()) > 0.85
    cut = "column 'member' goes with no other column: by itself it would cut every group into its own values; left out"
    assert any(note.startswith(cut) for note in found["notes"])
    assert cut in done.err


def test_every_column_that_is_left_out_is_named(afcm, customers):
    done = afcm("fit", "customers.csv", "--clusters", 3)
    assert "clustering 400 rows by 6 columns: name, age, income, visits, member, country" in done.err
    assert "note: column 'name' has 400 different texts in 400 rows, as names and numbers of samples do" in done.err
    assert "note: column 'country' has one value only ('FR') and cannot tell samples apart; left out" in done.err


def test_a_weight_lets_the_column_count(afcm, customers):
    done = afcm("fit", "customers.csv", "--clusters", 3, "--weight", "member=1", "--weight", "name=0", "--out", "a.csv")
    assert "goes with no other column" not in done.err
    table = read_table("a.csv")
    members = table["member"].to_pylist()
    assert adjusted_rand_score(members, table["label"].to_pylist()) > 0.3
    afcm("fit", "customers.csv", "--clusters", 3, "--out", "b.csv")
    assert adjusted_rand_score(members, read_table("b.csv")["label"].to_pylist()) < 0.1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--weight", "member"], "--weight member must look like column=number, for example --weight income=2"),
        (["--weight", "=2"], "--weight =2 must look like column=number"),
        (["--weight", "visit=2"], "weights names 'visit', which is no column"),
        (["--weight", "age=2", "--scale", "minmax"], "--weight needs --scale table, not minmax"),
        (
            ["--missing", "fill", "--scale", "none"],
            "--missing fill needs --scale table, not none; use --missing impute",
        ),
    ],
)
def test_bad_use_ends_in_a_sentence(afcm, customers, options, words):
    done = afcm("fit", "customers.csv", "--clusters", 3, *options)
    assert (done.code, words in done.err) == (2, True), done.err


def test_categories_and_dates_tell_groups(afcm, customers):
    afcm("fit", "rich.csv", "--clusters", 3, "--columns", "plan,since,member", "--out", "a.csv")
    assert adjusted_rand_score(customers, read_table("a.csv")["label"].to_pylist()) > 0.9


@pytest.mark.parametrize("scale", ["minmax", "standard", "none"])
def test_other_scales_are_of_numbers_alone(afcm, customers, scale):
    done = afcm("fit", "rich.csv", "--clusters", 3, "--scale", scale, "--missing", "impute")
    assert done.code == 0
    assert "by 3 columns: age, income, visits; left out: name (text), member (text), country (text)" in done.err


def test_a_column_that_decides_alone_is_said(afcm, customers):
    done = afcm("fit", "customers.csv", "--clusters", 3, "--scale", "none", "--missing", "drop")
    assert done.err.count("note: AFCM: column 1 holds 99 % of the squared distances") == 1
    assert "squared distances" not in afcm("fit", "customers.csv", "--clusters", 3).err


def test_predict_takes_the_columns_of_the_fit(afcm, customers, folder):
    afcm("fit", "rich.csv", "--clusters", 3, "--out", "a.parquet", "--model", "m.afcm", "--weight", "age=2")
    table = read_table("rich.csv")
    turned = table.select(table.column_names[::-1])
    pq.write_table(turned, folder / "turned.parquet")
    assert afcm("predict", "m.afcm", "turned.parquet", "--out", "b.parquet").code == 0
    assert pq.read_table("a.parquet")["label"].equals(pq.read_table("b.parquet")["label"])
    model = load_model(folder / "m.afcm")
    assert isinstance(model[0], TableScaler)
    assert model[0].column_weights_["age"] == 2
    frame = table.select(model.feature_names_in_.tolist()).to_pandas()
    assert model.predict(frame).tolist() == pq.read_table("a.parquet")["label"].to_pylist()


def test_predict_says_what_it_has_not_seen(afcm, customers, folder):
    afcm("fit", "rich.csv", "--clusters", 3, "--model", "m.afcm")
    lines = (folder / "rich.csv").read_text().splitlines()
    (folder / "new.csv").write_text("\n".join([lines[0], *(line.replace("paid", "silver") for line in lines[1:9])]))
    done = afcm("predict", "m.afcm", "new.csv", "--out", "b.csv")
    assert done.code == 0
    assert "note: TableScaler: column 'plan' holds 'silver', which fit did not see" in done.err


def test_select_and_compare_take_such_tables(afcm, customers):
    found = json.loads(afcm("select", "customers.csv", "--max", 5, "--json").out)
    assert found["n_clusters"] == 3
    assert any("'member'" in note for note in found["notes"])
    done = afcm("compare", "customers.csv", "--clusters", 3, "--method", "AFCM,KMeans", "--json")
    assert [row["method"] for row in json.loads(done.out)["methods"]] == ["AFCM", "KMeans"]


def test_the_page_shows_clusters_in_the_columns_and_categories_of_the_table(afcm, customers, folder):
    afcm("fit", "rich.csv", "--clusters", 3, "--report", "report.html")
    page = (folder / "report.html").read_text()
    for feature in ("plan = gold", "plan = free", "since", "income", "member = "):
        assert f'<th scope="row">{feature}' in page
    assert '<th scope="row">name' not in page
    assert re.search(r"<td>9\d %<span", page)  # of a cluster has the plan
    assert re.search(r"<td>202\d-\d\d-\d\d<span", page)
    data = json.loads(page.split('"application/json">')[1].split("</script>")[0])["features"]
    columns = dict(zip(data["names"], data["values"], strict=True))
    table = read_table("rich.csv")
    assert columns["plan"] == table["plan"].to_pylist()
    assert columns["since"] == [str(day) for day in table["since"].to_pylist()]
    assert columns["member"] == table["member"].to_pylist()
    assert columns["visits"] == table["visits"].to_pylist()
    assert "name" not in columns
