"""``metric="cosine"`` against rows that were scaled to length one before."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from afcm import AFCM, load_model, save_model
from afcm.estimators.inputs import to_unit_rows
from afcm.metrics import clustering_accuracy
from afcm.tables import TableScaler


def draw_vectors(n_each=60, n_features=8, seed=0):
    """Three directions, and lengths that have nothing to do with them."""
    random = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], n_each)
    X = random.normal(size=(3 * n_each, n_features)) + 3 * np.eye(3, n_features)[y]
    return X * random.lognormal(sigma=1.5, size=(3 * n_each, 1)), y


def draw_on_sphere(concentration, n_each, random):
    """Samples of three von Mises–Fisher distributions around the axes in space, and their posteriors."""
    axes, samples = np.eye(3), []
    for axis in range(3):
        share = random.random(n_each)
        along = 1 + np.log(share + (1 - share) * np.exp(-2 * concentration)) / concentration
        angle = 2 * np.pi * random.random(n_each)
        around = np.sqrt(1 - along**2)
        samples.append(np.roll(np.column_stack([along, around * np.cos(angle), around * np.sin(angle)]), axis, axis=1))
    X = np.vstack(samples)
    posterior = np.exp(concentration * X @ axes.T)
    return X, posterior / posterior.sum(axis=1, keepdims=True)


def test_rows_have_length_one_and_their_direction():
    X, _ = draw_vectors()
    np.testing.assert_allclose(to_unit_rows(X), normalize(X), rtol=1e-14)
    sparse = to_unit_rows(sp.csr_array(X))
    assert sp.issparse(sparse)
    np.testing.assert_allclose(sparse.toarray(), normalize(X), rtol=1e-14)
    assert to_unit_rows(X.astype(np.float32)).dtype == np.float32
    assert np.array_equal(to_unit_rows(np.asfortranarray(X)), to_unit_rows(X))


def test_samples_that_differ_by_a_factor_become_the_same():
    X = np.random.default_rng(0).integers(1, 50, size=(200, 7)).astype(float)
    for factor in (3.0, 7.0, 1000.0, 2.0**-200):
        assert np.array_equal(to_unit_rows(X), to_unit_rows(factor * X))
        assert np.array_equal(to_unit_rows(sp.csr_array(X)).data, to_unit_rows(sp.csr_array(factor * X)).data)


@pytest.mark.parametrize("graph", ["neighbors", "anchors"])
@pytest.mark.parametrize("n_features", [3, 8, 40])
def test_labels_are_those_of_normalized_rows(graph, n_features):
    X, y = draw_vectors(n_features=n_features)
    setting = {"graph": graph, "n_anchors": 50 if graph == "anchors" else "auto", "random_state": 0}
    model, plain = AFCM(3, metric="cosine", **setting).fit(X), AFCM(3, **setting).fit(normalize(X))
    # The last bit may decide which anchor is first, or which of two is nearer.
    assert clustering_accuracy(plain.labels_, model.labels_) >= (1 if graph == "neighbors" else 0.97)
    plain = AFCM(3, **setting).fit(to_unit_rows(X))
    assert np.array_equal(model.memberships_, plain.memberships_)
    assert clustering_accuracy(y, model.labels_) > 0.9
    new = draw_vectors(20, n_features, seed=1)[0]
    assert np.array_equal(model.predict(new), plain.predict(normalize(new)))
    np.testing.assert_allclose(model.transform(new), plain.transform(normalize(new)), atol=1e-6)
    np.testing.assert_allclose(model.outlier_scores(new), plain.outlier_scores(normalize(new)), atol=1e-6)
    assert np.array_equal(model.predict(X * 4), model.labels_)


def test_sparse_rows_stay_sparse_and_mean_the_same(monkeypatch):
    X, _ = draw_vectors()
    X[np.abs(normalize(X)) < 0.05] = 0
    dense, sparse = AFCM(3, metric="cosine", random_state=0).fit(X), sp.csr_array(X)
    with monkeypatch.context() as patch:
        dense_form = sp.csr_array.toarray
        patch.setattr(
            sp.csr_array,
            "toarray",
            lambda self: pytest.fail("made dense") if self.shape == X.shape else dense_form(self),
        )
        model = AFCM(3, metric="cosine", random_state=0).fit(sparse)
        assert (model.predict(2 * sparse) == model.labels_).all()
    assert clustering_accuracy(dense.labels_, model.labels_) == 1


def test_the_given_samples_are_left_as_they_are():
    X, _ = draw_vectors()
    for given in (X, sp.csr_array(X)):
        before = given.copy()
        AFCM(3, metric="cosine", random_state=0).fit(given).predict(given)
        assert abs(given - before).max() == 0


@pytest.mark.parametrize("scaler", [TableScaler(), StandardScaler()])
def test_a_model_file_of_a_pipeline_keeps_the_metric(scaler, tmp_path):
    X, _ = draw_vectors()
    model = make_pipeline(scaler, AFCM(3, metric="cosine", random_state=0)).fit(X)
    save_model(model, tmp_path / "model.afcm")
    assert np.array_equal(load_model(tmp_path / "model.afcm").predict(X), model[-1].labels_)


def test_a_model_file_keeps_the_metric(tmp_path):
    X, _ = draw_vectors()
    sparse = AFCM(3, metric="cosine", random_state=0).fit(sp.csr_array(X))
    save_model(sparse, tmp_path / "sparse.afcm")
    assert np.array_equal(load_model(tmp_path / "sparse.afcm").labels_, sparse.labels_)
    model = AFCM(3, metric="cosine", random_state=0).fit(X)
    save_model(model, tmp_path / "model.afcm")
    loaded = load_model(tmp_path / "model.afcm")
    assert loaded.metric == "cosine"
    assert np.array_equal(loaded.predict_proba(8 * X), model.memberships_)


@pytest.mark.filterwarnings("ignore::afcm.exceptions.HardMembershipsWarning")  # chunks have no graph to walk on
def test_chunks_are_compared_by_direction_too():
    da = pytest.importorskip("dask.array")
    X, _ = draw_vectors(100)
    setting = {"graph": "anchors", "n_anchors": 40, "random_state": 0}
    chunks = da.from_array(X, chunks=(70, -1))
    model, plain = (
        AFCM(3, metric="cosine", **setting).fit(chunks),
        AFCM(3, **setting).fit(da.from_array(normalize(X), (70, -1))),
    )
    assert np.array_equal(model.labels_.compute(), plain.labels_.compute())
    assert np.array_equal(model.predict(chunks).compute(), plain.predict(normalize(X)))
    X[7] = 0
    with pytest.raises(ValueError, match="row 7"):
        AFCM(3, metric="cosine", **setting).fit(da.from_array(X, chunks=(70, -1)))


def test_tensors_are_compared_by_direction_too():
    torch = pytest.importorskip("torch")
    X, _ = draw_vectors()
    model = AFCM(3, metric="cosine", random_state=0).fit(torch.as_tensor(X))
    plain = AFCM(3, random_state=0).fit(torch.as_tensor(normalize(X)))
    assert model.labels_.tolist() == plain.labels_.tolist()
    assert model.predict(torch.as_tensor(4 * X)).tolist() == model.labels_.tolist()


def test_bad_use_ends_in_a_sentence():
    X, _ = draw_vectors()
    model = AFCM(3, metric="cosine", random_state=0)
    prepared = model.prepare(X)
    with pytest.raises(ValueError, match="prepared with metric='cosine'"):
        AFCM(3).fit(prepared)
    zeros = X.copy()
    zeros[[4, 9]] = 0
    for given in (zeros, sp.csr_array(zeros)):
        with pytest.raises(ValueError, match=r"X has 2 rows of zeros \(the first is row 4\)"):
            model.fit(given)
    model.fit(prepared)
    with pytest.raises(ValueError, match="1 rows of zeros"):
        model.predict(zeros[4:5])
    with pytest.raises(ValueError, match="metric='cosine' compares samples"):
        AFCM(3, metric="cosine", affinity="precomputed").fit(np.ones((5, 5)))
    with pytest.raises(ValueError, match="metric"):
        AFCM(3, metric="manhattan").fit(X)


@pytest.mark.parametrize("concentration", [4, 8])
def test_memberships_on_a_sphere_are_near_the_posteriors(concentration):
    X, posterior = draw_on_sphere(concentration, 300, np.random.default_rng(0))
    model = AFCM(3, metric="cosine", random_state=0).fit(X * np.random.default_rng(1).lognormal(size=(900, 1)))
    assert model.membership_method_ == "views"
    order = [np.bincount(model.labels_[posterior[:, j] > 0.5]).argmax() for j in range(3)]
    hard = np.eye(3)[posterior.argmax(axis=1)]
    assert ((model.memberships_[:, order] - posterior) ** 2).sum() < ((hard - posterior) ** 2).sum()


def test_the_command_line_compares_directions(tmp_path, monkeypatch):
    pytest.importorskip("typer")
    pytest.importorskip("pyarrow")
    from typer.testing import CliRunner

    from afcm.cli import app

    def invoke(line):
        return CliRunner().invoke(app, line.split())

    monkeypatch.chdir(tmp_path)
    X, _ = draw_vectors()
    np.save("vectors.npy", X)
    run = invoke("fit vectors.npy --clusters 3 --metric cosine --scale none --model m.afcm")
    assert run.exit_code == 0, run.output
    assert np.array_equal(load_model("m.afcm").labels_, AFCM(3, metric="cosine", random_state=0).fit(X).labels_)
    run = invoke("fit vectors.npy --clusters 3 --metric cosin")
    assert run.exit_code != 0
    assert "--metric cosin must be euclidean or cosine" in run.output
    run = invoke("fit vectors.npy --clusters 3 --metric cosine --method FCM")
    assert "FCM has no other metric" in run.output
