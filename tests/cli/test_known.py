"""Labels known of some rows on the command line: the option ``--known``."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from afcm import AFCM, load_model
from afcm.tables import TableScaler
from afcm.tabular.columns import to_matrix
from tests.tabular.files import NAMES, SPECIES, iris


@pytest.fixture
def partly(folder):
    """Iris with a column of species that most rows lack."""
    known = [name if row % 10 == 0 else "" for row, name in enumerate(iris()["species"].to_pylist())]
    table = iris().append_column("guess", pa.array(known))
    pa.csv.write_csv(table, folder / "partly.csv")
    return known


def test_known_rows_keep_their_label_and_others_follow(afcm, folder, partly):
    done = afcm("fit", "partly.csv", "--clusters", 3, "--known", "guess", "--label", "species", "--out", "a.parquet",
                "--model", "m.afcm")  # fmt: skip
    assert done.code == 0, done.err
    assert "guess (known labels)" in done.err
    names = sorted(set(SPECIES))
    assert f"Known labels: cluster 0 is {names[0]}, 1 is {names[1]}, 2 is {names[2]}." in done.out
    labels = np.array(pq.read_table(folder / "a.parquet")["label"])
    known = np.array([names.index(name) if name else -1 for name in partly])
    right = AFCM(3, random_state=0).fit(TableScaler().fit_transform(to_matrix(iris(), NAMES)), known)
    assert labels.tolist() == right.labels_.tolist()
    assert (labels[known >= 0] == known[known >= 0]).all()
    assert load_model(folder / "m.afcm")[-1].cluster_names_.tolist() == names


def test_json_tells_the_names_and_what_was_followed(afcm, partly):
    found = json.loads(
        afcm("fit", "partly.csv", "--clusters", 4, "--known", "guess", "--drop", "species", "--json").out
    )
    assert found["cluster_names"] == [*sorted(set(SPECIES)), ""]
    assert found["known_source"] in ("clusters", "both", "discriminant")
    assert found["membership_method"] == "known"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--known", "gues"], "--known gues: there is no such column"),
        (["--known", "species"], "--known species: every row has a label, and nothing is left to find"),
        (["--known", "guess", "--method", "PlainAFCM"], "--known: PlainAFCM does not follow known labels"),
        (["--known", "guess", "--columns", "guess"], "which is also the known labels column"),
        (["--known", "guess", "--clusters", 2], "y holds 3 different known labels, more than n_clusters=2"),
    ],
)
def test_what_cannot_be_is_said(afcm, partly, options, message):
    done = afcm("fit", "partly.csv", "--clusters", 3, *options)
    assert done.code != 0
    assert message in " ".join(done.err.split())
