"""``afcm fit`` and ``afcm predict``: what they write, what they say, what they refuse."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("typer")
import pyarrow.parquet as pq
from sklearn.preprocessing import minmax_scale

from afcm import AFCM, PlainAFCM, load_model, save_model
from afcm.cli.methods import METHODS
from afcm.metrics import clustering_accuracy
from afcm.metrics.ambiguity import ambiguity
from afcm.tables import TableScaler
from afcm.tabular import read_table
from afcm.tabular.columns import to_matrix
from tests.tabular.files import BROKEN, NAMES, SPECIES, csv_bytes, iris

PREDICTING = [name for name in METHODS if name != "SpectralBaseline"]


def test_everything_at_once(afcm, folder):
    done = afcm("fit", "iris.csv", "--clusters", 3, "--label", "species", "--out", "result.parquet",
                "--model", "model.afcm", "--report", "report.html")  # fmt: skip
    assert done.code == 0
    assert "clustering 150 rows by 4 columns: sepal length" in done.err
    assert "species (label)" in done.err
    assert "3 clusters of" in done.out
    assert "written: report.html" in done.out
    assert {path.name for path in folder.iterdir()} == {
        "iris.csv", "result.parquet", "model.afcm", "report.html"
    }  # fmt: skip
    assert "<html" in (folder / "report.html").read_text()


def test_the_table_holds_what_the_estimator_finds(afcm, folder):
    options = ["--clusters", 3, "--drop", "species", "--out", "result.parquet"]
    for more, scale in (([], TableScaler().fit_transform), (["--scale", "minmax"], minmax_scale)):
        afcm("fit", "iris.csv", *options, *more)
        model = AFCM(3, random_state=0).fit(scale(to_matrix(iris(), NAMES)))
        check_table(pq.read_table(folder / "result.parquet"), model)


def check_table(table, model):
    assert table.column_names[:6] == iris().column_names
    assert table["label"].to_pylist() == model.labels_.tolist()
    assert np.array_equal(to_matrix(table, [f"membership_{j}" for j in range(3)]), model.memberships_)
    assert np.array_equal(table["ambiguity"], ambiguity(model.memberships_))


@pytest.mark.parametrize("method", PREDICTING)
def test_predicting_the_same_file_gives_the_same_labels(afcm, folder, method):
    options = ["--clusters", 3, "--scale", "standard", "--label", "species"]
    fitted = afcm("fit", "iris.csv", *options, "--method", method, "--out", "a.csv", "--model", "m.afcm")
    assert fitted.code == 0, fitted.err
    predicted = afcm("predict", "m.afcm", "iris.csv", "--out", "b.csv")
    assert predicted.code == 0, predicted.err
    first, second = read_table(folder / "a.csv"), read_table(folder / "b.csv")
    assert first["label"].equals(second["label"])
    for name in first.column_names[7:]:
        assert np.allclose(to_matrix(first, [name]), to_matrix(second, [name]), atol=1e-9)


def test_a_model_file_is_a_pipeline_in_python(afcm, folder):
    afcm("fit", "iris.csv", "--clusters", 3, "--method", "plainafcm", "--drop", "species",
         "--model", "m.afcm", "--out", "a.parquet")  # fmt: skip
    model = load_model(folder / "m.afcm")
    assert list(model.feature_names_in_) == list(NAMES)
    frame = iris().select(list(NAMES)).to_pandas()
    before = frame.copy()
    assert model.predict(frame).tolist() == pq.read_table(folder / "a.parquet")["label"].to_pylist()
    assert frame.equals(before)


def test_without_scaling_the_model_is_the_estimator(afcm, folder):
    assert afcm("fit", "iris.csv", "--clusters", 3, "--scale", "none", "--model", "m.afcm").code == 0
    model = load_model(folder / "m.afcm")
    assert isinstance(model, AFCM)
    assert list(model.feature_names_in_) == list(NAMES)


def test_the_columns_are_found_by_name(afcm, folder):
    afcm("fit", "iris.csv", "--clusters", 3, "--model", "m.afcm", "--out", "a.csv")
    turned = iris().select(["species", *NAMES[::-1]])
    pq.write_table(turned, folder / "turned.parquet")
    assert afcm("predict", "m.afcm", "turned.parquet", "--out", "b.csv").code == 0
    assert read_table(folder / "a.csv")["label"].equals(read_table(folder / "b.csv")["label"])
    pq.write_table(turned.drop_columns([NAMES[2]]), folder / "less.parquet")
    less = afcm("predict", "m.afcm", "less.parquet", "--out", "c.csv")
    assert (less.code, less.err.count("\n")) == (2, 1)
    assert f"lacks the model's column '{NAMES[2]}'" in less.err


def test_a_model_of_nameless_columns_wants_as_many_of_them(afcm, folder):
    X = to_matrix(iris(), NAMES[:2])
    model = PlainAFCM(3, random_state=0).fit(X)
    save_model(model, folder / "m.afcm")
    more = afcm("predict", "m.afcm", "iris.csv", "--out", "a.csv")
    assert more.code == 2
    expected = "iris.csv has 4 columns of numbers, the model 2 features; leave the other columns out of the file"
    assert more.err == f"afcm: {expected}\n"
    assert not (folder / "a.csv").exists()
    pq.write_table(iris().select(["species", *NAMES[:2]]), folder / "two.parquet")
    assert afcm("predict", "m.afcm", "two.parquet", "--out", "a.csv").code == 0
    assert read_table(folder / "a.csv")["label"].to_pylist() == model.predict(X).tolist()


def test_json_for_machines(afcm):
    done = afcm("fit", "iris.csv", "--clusters", 3, "--label", "species", "--json", "--out", "a.csv")
    found = json.loads(done.out)
    assert found["method"] == "AFCM"
    assert found["n_clusters"] == 3
    assert sum(found["sizes"]) == found["n_samples"] == 150
    added = ["label", "membership_0", "membership_1", "membership_2", "ambiguity", "outlier_score"]
    assert found["added_columns"] == added
    assert found["scores"]["ACC"] > 0.9
    assert found["files"] == ["a.csv"]
    truth = iris()["species"].to_pylist()
    assert clustering_accuracy(truth, read_table("a.csv")["label"]) == pytest.approx(found["scores"]["ACC"], abs=1e-6)


def test_what_predict_tells_machines_is_what_it_writes(afcm, folder):
    afcm("fit", "iris.csv", "--clusters", 3, "--drop", "species", "--model", "m.afcm")
    done = afcm("predict", "m.afcm", "iris.csv", "--label", "species", "--out", "a.csv", "--json")
    found, table = json.loads(done.out), read_table(folder / "a.csv")
    labels = table["label"].to_pylist()
    assert (found["method"], found["n_samples"], found["n_clusters"]) == ("AFCM", 150, 3)
    assert found["sizes"] == np.bincount(labels).tolist()
    assert found["ambiguous"] == np.sum(np.array(table["ambiguity"]) >= 0.5)
    truth = iris()["species"].to_pylist()
    assert found["scores"]["ACC"] == pytest.approx(clustering_accuracy(truth, labels), abs=1e-6)
    assert (found["files"], found["added_columns"]) == (["a.csv"], table.column_names[6:])


def test_predict_does_not_mix_json_and_the_table_on_standard_output(afcm, folder):
    save_model(PlainAFCM(3, random_state=0).fit(to_matrix(iris(), NAMES)), folder / "m.afcm")
    done = afcm("predict", "m.afcm", "iris.csv", "--json", "--out", "-")
    assert (done.code, done.out) == (2, "")
    assert done.err == "afcm: --json and --out - both write to standard output; give --out a file\n"


def test_a_label_without_any_value_is_refused_and_nothing_is_written(afcm, folder):
    text = csv_bytes().decode()
    for name in SPECIES:
        text = text.replace(name, "")
    (folder / "unknown.csv").write_text(text)
    done = afcm("fit", "unknown.csv", "--clusters", 3, "--label", "species", "--out", "a.csv", "--model", "m.afcm")
    assert done.code == 2
    assert "afcm: --label species: the column has no value; leave the option out" in done.err
    assert {path.name for path in folder.iterdir()} == {"iris.csv", "unknown.csv"}
    save_model(PlainAFCM(3, random_state=0).fit(to_matrix(iris(), NAMES)), folder / "m.afcm")
    for command in (["predict", "m.afcm", "unknown.csv", "--out", "a.csv"], ["compare", "unknown.csv"]):
        done = afcm(*command, "--label", "species")
        assert (done.code, done.out) == (2, "")
        assert "afcm: --label species: the column has no value; leave the option out" in done.err
        assert not (folder / "a.csv").exists()


def test_clusters_are_counted(afcm):
    for method in ("AFCM", "PlainAFCM"):
        options = ["--clusters", "auto", "--drop", "species", "--method", method, "--json"]
        found = json.loads(afcm("fit", "iris.csv", *options).out)
        assert found["n_clusters"] == 2


def test_parameters_of_the_method(afcm):
    done = afcm(
        "fit", "iris.csv", "--clusters", 3, "--method", "FCM", "--set", "m=1.5", "--set", "max_iter=2", "--json"
    )
    assert json.loads(done.out)["n_iter"] == 2
    wrong = afcm("fit", "iris.csv", "--method", "FCM", "--set", "exponent=1.5")
    assert (wrong.code, "--set exponent: FCM has no such parameter; it has device, init, m" in wrong.err) == (2, True)


def test_a_parameter_that_is_not_json_is_text(afcm, folder):
    options = ["--set", "kernel=binary", "--set", "n_neighbors=7", "--model", "m.afcm"]
    done = afcm("fit", "iris.csv", "--clusters", 3, *options)
    assert done.code == 0, done.err
    model = load_model(folder / "m.afcm")[-1]
    assert (model.kernel, model.n_neighbors) == ("binary", 7)
    wrong = afcm("fit", "iris.csv", "--clusters", 3, "--set", "kernel=round")
    assert (wrong.code, "kernel='round' is not known; use one of" in wrong.err) == (2, True)


def test_the_seed_decides(afcm, folder):
    for name, seed in (("a", 1), ("b", 1)):
        afcm("fit", "iris.csv", "--clusters", 5, "--method", "FKPS", "--seed", seed, "--out", f"{name}.csv")
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


def test_standard_input_and_output(afcm):
    done = afcm("fit", "-", "--clusters", 3, "--drop", "species", "--out", "-", input=csv_bytes())
    lines = done.out.splitlines()
    assert len(lines) == 151
    assert lines[0].endswith('"label","membership_0","membership_1","membership_2","ambiguity","outlier_score"')


class TestMissingValues:
    @pytest.fixture
    def holes(self, folder):
        lines = csv_bytes().decode().splitlines()
        lines[5] = ",".join(["5", "", *lines[5].split(",")[2:]])
        lines[9] = ",".join(["9", "NA", *lines[9].split(",")[2:]])
        (folder / "holes.csv").write_text("\n".join(lines))
        return "holes.csv"

    @pytest.mark.parametrize("options", [["--scale", "minmax"], ["--missing", "error"]])
    def test_are_refused_if_wanted_and_by_other_scales(self, afcm, holes, folder, options):
        done = afcm("fit", holes, "--clusters", 3, "--out", "a.csv", *options)
        assert done.code == 2
        assert "column 'sepal length' has no value in row 5; use --missing drop" in done.err
        assert not (folder / "a.csv").exists()

    def test_are_filled_by_default(self, afcm, holes, folder):
        done = afcm("fit", holes, "--clusters", 3, "--out", "a.csv", "--model", "m.afcm")
        assert "2 missing values are filled in by what the other columns of their rows say" in done.err
        assert read_table(folder / "a.csv")["label"].null_count == 0
        afcm("predict", "m.afcm", holes, "--out", "b.csv")
        assert read_table(folder / "a.csv")["label"].equals(read_table(folder / "b.csv")["label"])

    def test_rows_without_a_label(self, afcm, holes, folder):
        done = afcm("fit", holes, "--clusters", 3, "--missing", "drop", "--out", "a.csv", "--model", "m.afcm")
        assert "2 rows with missing values" in done.err
        labels = read_table(folder / "a.csv")["label"].to_pylist()
        assert [i for i, label in enumerate(labels) if label is None] == [4, 8]
        afcm("predict", "m.afcm", holes, "--out", "b.csv")
        assert read_table(folder / "b.csv")["label"].to_pylist() == labels

    def test_medians(self, afcm, holes, folder):
        done = afcm("fit", holes, "--clusters", 3, "--missing", "impute", "--scale", "minmax",
                    "--out", "a.csv", "--model", "m.afcm")  # fmt: skip
        assert "2 missing values become their column's median" in done.err
        assert read_table(folder / "a.csv")["label"].null_count == 0
        assert afcm("predict", "m.afcm", holes, "--out", "b.csv").code == 0
        assert read_table(folder / "a.csv")["label"].equals(read_table(folder / "b.csv")["label"])


def test_missing_values_in_every_row_leave_nothing_to_cluster(afcm, folder):
    (folder / "holes.csv").write_text("a,b\n1,\n,2\n3,\n,5\n")
    done = afcm("fit", "holes.csv", "--clusters", 2, "--missing", "drop", "--out", "a.csv")
    assert done.code == 2
    assert "--missing drop leaves no row: every row has a missing value; use --missing impute" in done.err
    assert not (folder / "a.csv").exists()
    assert afcm("fit", "holes.csv", "--clusters", 2, "--missing", "impute", "--out", "a.csv").code == 0


@pytest.mark.parametrize("name", BROKEN)
def test_bad_files_are_one_line_and_leave_nothing(afcm, folder, name):
    content, expected = BROKEN[name]
    (folder / name).write_bytes(content)
    numbers = ["--scale", "minmax"] if name in ("constant.csv", "missing.csv", "words.csv") else []  # others take them
    done = afcm("fit", name, "--clusters", 2, "--out", "a.csv", "--model", "m.afcm", "--report", "r.html", *numbers)
    assert done.code == 2
    (line,) = [line for line in done.err.splitlines() if not line.startswith("clustering")]
    assert line.startswith("afcm: ")
    for words in expected:
        assert words in line
    assert {path.name for path in folder.iterdir()} == {"iris.csv", name}


@pytest.mark.parametrize("name", ["pickle.npy", "junk.npz", "truncated.parquet"])
def test_files_that_are_no_models(afcm, folder, name):
    (folder / "m.afcm").write_bytes(BROKEN[name][0])
    for command in (["predict", "m.afcm", "iris.csv", "--out", "a.csv"], ["info", "m.afcm"]):
        done = afcm(*command)
        assert (done.code, done.err.count("\n"), done.out) == (2, 1, "")
        assert done.err.startswith("afcm: m.afcm: ")
    assert not (folder / "a.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--clusters", "three"], "--clusters three must be a whole number of at least 1, or auto"),
        (["--clusters", 0], "--clusters 0 must be"),
        (["--clusters", 151], "n_clusters=151 must be at most n_samples=150"),
        (["--method", "DBSCAN"], "--method DBSCAN is not known; use one of AFCM"),
        (["--set", "m"], "--set m must look like name=value"),
        (["--columns", "a"], "--columns a: there is no such column"),
        (["--columns", ","], "names nothing"),
        (["--out", "a.xlsx"], "cannot write the ending '.xlsx'"),
        (["--out", "none/a.csv"], "the folder none does not exist"),
        (["--out", "."], "is a folder"),
        (["--json", "--out", "-"], "both write to standard output"),
        (["--label", "species", "--id", "nr"], "--id nr"),
        (["--method", "SpectralBaseline", "--clusters", 2, "--model", "m.afcm"], "cannot label new samples"),
    ],
)
def test_bad_options(afcm, folder, arguments, message):
    done = afcm("fit", "iris.csv", *arguments)
    assert done.code == 2
    assert message in done.err
    assert [path.name for path in folder.iterdir()] == ["iris.csv"]


def test_taken_names(afcm, folder):
    afcm("fit", "iris.csv", "--clusters", 3, "--out", "a.csv")
    done = afcm("fit", "a.csv", "--clusters", 3, "--columns", ",".join(NAMES), "--out", "b.csv", "--json")
    assert json.loads(done.out)["added_columns"][0] == "afcm_label"
    assert read_table(folder / "b.csv").column_names[6] == "label"
