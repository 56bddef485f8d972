"""Sparse memberships on the command line: tables with ranked clusters."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")
import pyarrow.parquet as pq

from afcm import load_model

FIT = ("fit", "iris.csv", "--label", "species", "--clusters", 9)


@pytest.mark.parametrize(
    ("method", "ending"),
    [("PlainAFCM", "parquet"), ("PlainAFCM", "csv"), ("PlainAFCM", "jsonl"), ("AFCM", "parquet"), ("AFCM", "csv")],
)
def test_tables_hold_the_first_choices(afcm, folder, method, ending):
    fit = (*FIT, "--method", method)
    done = afcm(
        *fit, "--set", "memberships_format=sparse", "--out", f"a.{ending}", "--model", "m.afcm", "--report", "r.html"
    )
    assert done.code == 0, done.err
    assert afcm("predict", "m.afcm", "iris.csv", "--out", f"b.{ending}").code == 0
    assert afcm(*fit, "--out", "dense.parquet").code == 0
    if ending != "parquet":
        return
    few, again, dense = (pq.read_table(folder / f"{name}.parquet").to_pandas() for name in ("a", "b", "dense"))
    names = [f"{kind}_{place}" for place in range(1, 6) for kind in ("cluster", "membership")]
    assert [name for name in few.columns if name not in dense.columns] == [n for n in names if n not in dense.columns]
    np.testing.assert_array_equal(few["cluster_1"], few["label"])
    np.testing.assert_array_equal(few["label"], dense["label"])
    np.testing.assert_allclose(few["ambiguity"], dense["ambiguity"], atol=1e-3)
    full = load_model("m.afcm")[-1].memberships_.toarray()
    for place in range(5):
        ranked = np.sort(full, axis=1)[:, -1 - place]
        np.testing.assert_array_equal(few[f"membership_{place + 1}"].fillna(0), ranked)
        np.testing.assert_allclose(again[f"membership_{place + 1}"].fillna(0), ranked, atol=1e-12)
        has = few[f"cluster_{place + 1}"].notna()
        np.testing.assert_array_equal(has, ranked > 0)


def test_levels_and_old_numbers_of_sparse_memberships(afcm):
    sparse = (*FIT, "--set", "memberships_format=sparse")
    assert afcm(*sparse, "--level", 4, "--model", "four.afcm", "--report", "r.html").code == 0
    assert load_model("four.afcm")[-1].memberships_.shape == (150, 4)
    done = afcm(*sparse, "--align-to", "four.afcm", "--out", "a.csv", "--json")
    assert done.code == 0, done.err
    assert len(json.loads(done.out)["alignment"]) >= 9
