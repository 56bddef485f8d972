"""Numbers of clusters that stay from one fit to the next on the command line: the option ``--align-to``."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from afcm import align, load_model
from tests.tabular.files import NAMES, iris

FIT = ("fit", "iris.csv", "--label", "species", "--clusters", 3)


def labels_in(path):
    return np.array(pq.read_table(path)["label"])


def test_a_second_fit_keeps_the_numbers_of_the_first(afcm, folder):
    """PlainAFCM numbers its clusters by its start, so that another seed gives other numbers."""
    assert afcm(*FIT, "--method", "PlainAFCM", "--out", "a.parquet", "--model", "m.afcm").code == 0
    other = [*FIT, "--method", "PlainAFCM", "--seed", 4, "--out", "b.parquet"]
    assert afcm(*other).code == 0
    assert (labels_in("a.parquet") != labels_in("b.parquet")).mean() > 0.5
    done = afcm(*other, "--align-to", "m.afcm", "--model", "m.afcm", "--report", "r.html")
    assert done.code == 0, done.err
    np.testing.assert_array_equal(labels_in("a.parquet"), labels_in("b.parquet"))
    sizes = np.bincount(labels_in("a.parquet"))
    lines = [f"  {j}: kept, with 100 % of its {sizes[j]} samples; {sizes[j]} now" for j in range(3)]
    assert "\n".join(["Clusters, numbered as in m.afcm:", *lines]) in done.out
    np.testing.assert_array_equal(load_model("m.afcm")[-1].labels_, labels_in("b.parquet"))


def test_a_table_with_new_rows_and_other_scaling_is_compared_by_the_old_model(afcm, folder):
    """The first fit saw two of the three species, with missing values filled in by its own scaler."""
    half = iris().slice(0, 100)
    pa.csv.write_csv(half, folder / "half.csv")
    assert afcm("fit", "half.csv", "--drop", "species", "--clusters", 2, "--model", "old.afcm").code == 0
    done = afcm(
        *FIT, "--scale", "minmax", "--align-to", "old.afcm", "--out", "b.parquet", "--model", "n.afcm", "--json"
    )
    found = json.loads(done.out)["alignment"]
    assert [(row["old"], row["new"], row["change"]) for row in found] == [
        (0, 0, "kept"),
        (1, 1, "kept"),
        (None, 2, "new"),
    ]
    old, new = load_model(folder / "old.afcm"), load_model(folder / "n.afcm")
    assert found == align(new, old, iris().select(NAMES).to_pandas()).table


def test_rows_that_are_left_out_are_left_out_of_the_comparison(afcm, folder):
    text = (folder / "iris.csv").read_text().splitlines()
    text[3] = "," + text[3].partition(",")[2]
    (folder / "holes.csv").write_text("\n".join(text))
    for scale in ("table", "minmax"):
        assert afcm(*FIT, "--scale", scale, "--model", f"{scale}.afcm").code == 0
        done = afcm(
            "fit", "holes.csv", *FIT[2:], "--scale", scale, "--missing", "drop", "--align-to", f"{scale}.afcm", "--json"
        )
        assert sum(row["samples_before"] for row in json.loads(done.out)["alignment"]) == 149


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--align-to", "none.afcm"], "none.afcm"),
        (["--align-to", "iris.csv"], "give a file that afcm.save_model has written"),
        (["--align-to", "m.afcm", "--known", "species"], "--align-to and --known both number the clusters"),
        (["--align-to", "m.afcm", "--method", "KMeans"], "--align-to: KMeans has no memberships to compare"),
        (["--align-to", "k.afcm"], "--align-to k.afcm: the model is a KMeans, which has no memberships"),
        (["--align-to", "m.afcm"], "--align-to m.afcm: the table lacks the model's column 'width'"),
    ],
)
def test_bad_use_ends_in_a_sentence(afcm, folder, options, message):
    (folder / "other.csv").write_text("length,width\n" + "\n".join(f"{i % 7},{i}" for i in range(40)))
    for method, name in (("PlainAFCM", "m.afcm"), ("KMeans", "k.afcm")):
        assert afcm("fit", "other.csv", "--clusters", 2, "--method", method, "--model", name).code == 0
    if options == ["--align-to", "m.afcm"]:
        (folder / "iris.csv").write_text("length,depth\n" + "\n".join(f"{i % 7},{i}" for i in range(40)))
    done = afcm("fit", "iris.csv", "--clusters", 2, *options)
    assert done.code == 2
    assert message in done.err
