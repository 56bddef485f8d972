"""Background on the command line: the column ``outlier_score``, the option ``--noise`` and what is said about both."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")
import pyarrow as pa
import pyarrow.csv as arrow_csv

from afcm import AFCM, load_model
from afcm.tables import TableScaler
from afcm.tabular import read_table
from afcm.tabular.columns import to_matrix

FIT = ("fit", "stray.csv", "--clusters", 2)


def stray_samples():
    """Two blobs of 150 samples and 40 that are spread over all."""
    random = np.random.default_rng(0)
    blobs = random.normal(scale=0.4, size=(300, 2)) + np.repeat([[0.0, 0.0], [6.0, 0.0]], 150, axis=0)
    return np.vstack([blobs, random.uniform([-3, -5], [9, 5], size=(40, 2))])


@pytest.fixture
def stray(folder):
    """The samples in stray.csv."""
    x, y = stray_samples().T
    arrow_csv.write_csv(pa.table({"x": x, "y": y}), folder / "stray.csv")
    return folder


def test_fit_writes_the_scores_of_the_estimator_and_names_the_share(afcm, stray):
    done = afcm(*FIT, "--out", "a.csv")
    model = AFCM(2, random_state=0).fit(TableScaler().fit_transform(stray_samples()))
    scores = to_matrix(read_table("a.csv"), ["outlier_score"])[:, 0]
    np.testing.assert_allclose(scores, model.outlier_scores_, atol=1e-12)
    assert scores[300:].mean() > 0.7
    assert scores[:300].mean() < 0.1
    share = f"{100 * model.noise_share_:.0f} %"
    assert f"About {share} of the samples look like background" in done.out
    assert f"for {int((scores >= 0.5).sum())} that is more likely than not" in done.out


def test_predict_writes_the_scores_of_the_model(afcm, stray):
    afcm(*FIT, "--out", "a.csv", "--model", "m.afcm")
    done = afcm("predict", "m.afcm", "stray.csv", "--out", "b.csv")
    first, second = read_table("a.csv"), read_table("b.csv")
    assert first.column_names == second.column_names
    assert first.column_names[-1] == "outlier_score"
    np.testing.assert_allclose(to_matrix(first, ["outlier_score"]), to_matrix(second, ["outlier_score"]), atol=1e-9)
    outliers = int((to_matrix(second, ["outlier_score"]) >= 0.5).sum())
    assert outliers > 20
    assert f"ambiguous; {outliers} look like background\n" in done.out


def test_json_tells_share_and_outliers(afcm, stray):
    fitted = json.loads(afcm(*FIT, "--model", "m.afcm", "--out", "a.csv", "--json").out)
    scores = to_matrix(read_table("a.csv"), ["outlier_score"])
    assert fitted["outliers"] == int((scores >= 0.5).sum())
    assert fitted["noise_share"] == pytest.approx(load_model("m.afcm")[-1].noise_share_)
    assert fitted["added_columns"][-1] == "outlier_score"
    predicted = json.loads(afcm("predict", "m.afcm", "stray.csv", "--out", "b.csv", "--json").out)
    assert predicted["outliers"] == fitted["outliers"]
    assert predicted["added_columns"] == fitted["added_columns"]


def test_a_share_is_kept(afcm, stray):
    done = afcm(*FIT, "--noise", "0.2", "--model", "m.afcm")
    assert "About 20 % of the samples look like background" in done.out
    model = load_model("m.afcm")[-1]
    assert (model.noise, model.noise_share_) == (0.2, pytest.approx(0.2))


def test_without_a_look_there_is_no_score_and_no_word(afcm, stray):
    done = afcm(*FIT, "--noise", "none", "--out", "a.csv", "--model", "m.afcm", "--json")
    found = json.loads(done.out)
    assert not {"outliers", "noise_share"} & set(found)
    assert found["added_columns"] == ["label", "membership_0", "membership_1", "ambiguity"]
    assert read_table("a.csv").column_names[-1] == "ambiguity"
    assert "background" not in afcm(*FIT, "--noise", "none").out
    afcm("predict", "m.afcm", "stray.csv", "--out", "b.csv")
    assert read_table("b.csv").column_names[-1] == "ambiguity"


def test_scores_are_0_where_no_background_is_found(afcm, stray):
    blobs = pa.table(dict(zip("xy", stray_samples()[:300].T, strict=True)))
    arrow_csv.write_csv(blobs, stray / "blobs.csv")
    done = afcm("fit", "blobs.csv", "--clusters", 2, "--out", "a.csv")
    assert not to_matrix(read_table("a.csv"), ["outlier_score"]).any()
    assert "background" not in done.out


@pytest.mark.parametrize("noise", ["much", "0", "1", "-0.1", "nan"])
def test_a_share_that_is_none_is_refused(afcm, stray, noise):
    done = afcm(*FIT, f"--noise={noise}")
    assert done.code == 2
    assert done.err == f"afcm: --noise {noise} must be auto, none, or a share between 0 and 1 such as 0.1\n"


def test_other_methods_do_not_look_for_background(afcm, stray):
    done = afcm(*FIT, "--method", "plainafcm", "--noise", "auto")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "afcm: --noise: PlainAFCM does not look for background; use --method AFCM, or leave the option out\n"
    )
    assert afcm(*FIT, "--method", "plainafcm", "--out", "a.csv").code == 0
    assert read_table("a.csv").column_names[-1] == "ambiguity"


def test_saying_it_twice_is_refused(afcm, stray):
    done = afcm(*FIT, "--noise", "auto", "--set", "noise=0.2")
    assert (done.code, "give one of them" in done.err) == (2, True)


def test_info_shows_the_share(afcm, stray):
    afcm(*FIT, "--model", "m.afcm")
    share = load_model("m.afcm")[-1].noise_share_
    assert f"noise_share_: {share}" in afcm("info", "m.afcm").out
    assert json.loads(afcm("info", "m.afcm", "--json").out)["fitted"]["noise_share_"] == share


def test_select_says_what_it_did_not_count(afcm, stray):
    done = afcm("select", "stray.csv", "--max", 4, "--scale", "minmax")
    assert "n_clusters = 2" in done.out
    assert "of the samples look like background and were not counted" in done.out
    found = json.loads(afcm("select", "stray.csv", "--max", 4, "--scale", "minmax", "--json").out)
    assert 0.05 < found["background_share"] < 0.2
    assert "are not counted" in " ".join(afcm("select", "--help").out.split())
