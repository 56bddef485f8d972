"""What comes out of a file is what went in, to the last bit."""

from __future__ import annotations

import errno
import os
import warnings
import zipfile
from dataclasses import fields, is_dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import afcm
import afcm.baselines
from afcm import AFCM, FCM, PlainAFCM, load_model, read_info, save_model
from afcm.modelfiles import ModelFileError
from afcm.modelfiles.registry import ESTIMATORS, LEFT_OUT, NAMES, PARTS
from afcm.storage import documents
from tests.modelfiles.models import NEW, RECIPES, TABLE, X, answers, fitted, last, new_samples


def same(one, other):
    """Equal in kind, order of memory and bits."""
    return bits(one) == bits(other)


def bits(value):
    """A value as nested tuples that can be compared, NaN equal to itself."""
    for known, parts in COMPOSED:
        if known(value):
            return type(value), bits(parts(value))
    if isinstance(value, dict):
        return [(key, bits(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value), [bits(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype, value.shape, value.flags.fnc, value.tobytes()
    return type(value), repr(value)


def stored(model):
    """The attributes that a file keeps."""
    kind = ESTIMATORS[NAMES[type(model)]]
    left = kind.left_out | LEFT_OUT | set(kind.given)
    return {name: value for name, value in sorted(vars(model).items()) if name not in left}


COMPOSED = (
    (is_dataclass, lambda value: {field.name: getattr(value, field.name) for field in fields(value)}),
    (sp.issparse, lambda value: [value.shape, value.data, value.indices, value.indptr]),
    (lambda value: isinstance(value, BaseEstimator), stored),
    (lambda value: isinstance(value, pd.DataFrame), lambda value: [list(value), value.to_numpy()]),
)


@pytest.mark.parametrize("name", RECIPES)
def test_every_model_answers_as_before(name, tmp_path):
    model, new = fitted(name), new_samples(name)
    before = answers(model, new)
    again = load_model(save_model(model, tmp_path / "model.afcm"))
    assert same(model, again)
    assert same(before, answers(again, new))


@pytest.mark.parametrize("name", RECIPES)
def test_saving_changes_neither_the_model_nor_the_file(name, tmp_path):
    model = fitted(name)
    before = set(vars(model))
    first, second = save_model(model, tmp_path / "1.afcm"), save_model(model, tmp_path / "2.afcm")
    assert set(vars(model)) == before
    assert first.read_bytes() == second.read_bytes()
    assert save_model(load_model(first), tmp_path / "3.afcm").read_bytes() == first.read_bytes()


@pytest.mark.parametrize("name", RECIPES)
def test_every_attribute_is_stored_or_left_out_on_purpose(name):
    """A new attribute must be put into the registry: as state, optional, or left out."""
    steps = [step for _, step in getattr(fitted(name), "steps", [("", fitted(name))]) if step != "passthrough"]
    for step in steps:
        kind = ESTIMATORS[NAMES[type(step)]]
        allowed = set(kind.known) | kind.left_out | set(kind.given) | set(step.get_params(deep=False))
        assert set(vars(step)) <= allowed
        assert set(kind.state) <= set(vars(step))
        for part in (value for value in vars(step).values() if is_dataclass(value)):
            cached = {name for name in dir(type(part)) if isinstance(getattr(type(part), name), cached_property)}
            assert set(vars(part)) - cached == set(PARTS[NAMES[type(part)]].state)


def test_every_public_estimator_has_a_recipe():
    public = [
        *(getattr(afcm, name) for name in afcm.__all__),
        *map(afcm.baselines.__dict__.get, afcm.baselines.__all__),
    ]
    estimators = {cls for cls in public if isinstance(cls, type) and issubclass(cls, BaseEstimator)}
    assert len(estimators) == 10
    assert estimators <= {type(last(fitted(name))) for name in RECIPES}


@pytest.mark.parametrize("kind", PARTS.values(), ids=PARTS)
def test_all_fields_of_a_dataclass_are_stored(kind):
    assert {field.name for field in fields(kind.cls)} == set(kind.state)


def test_parameters_and_estimators_that_are_not_fitted(tmp_path):
    for model in (AFCM(5, tol=np.float32(0.1), graph_weight=np.inf), FCM(np.int64(4)), make_pipeline(AFCM())):
        again = load_model(save_model(model, tmp_path / "model.afcm"))
        assert str(again) == str(model)
        assert same(stored(last(again)), stored(last(model)))
        assert clone(again) is not None


def test_what_is_not_a_value_is_not_stored(tmp_path):
    model = PlainAFCM(3, random_state=np.random.RandomState(0), callback=print).fit(X)
    again = load_model(save_model(model, tmp_path / "model.afcm"))
    assert again.get_params() == {**model.get_params(), "random_state": None, "callback": None}
    assert model.callback is print
    pipeline = make_pipeline(clone(fitted("PlainAFCM")), memory=str(tmp_path / "cache")).fit(X)
    assert load_model(save_model(pipeline, tmp_path / "model.afcm")).memory is None


def test_a_fuzziness_changed_after_the_fit_stays_without_effect(tmp_path):
    model = FCM(3, m=1.5, random_state=0).fit(X).set_params(m=3.0)
    again = load_model(save_model(model, tmp_path / "model.afcm"))
    assert (again.m, again._exponent, model._exponent) == (3.0, 1.5, 1.5)
    np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))


def test_names_of_columns_are_checked_after_loading(tmp_path):
    again = load_model(save_model(fitted("AFCM names"), tmp_path / "model.afcm"))
    assert again.feature_names_in_.dtype == object
    with pytest.raises(ValueError, match="feature names"):
        again.predict(TABLE.rename(columns={"width": "weight"}))


def test_loading_says_nothing(tmp_path):
    path = save_model(fitted("Pipeline"), tmp_path / "model.afcm")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(path)


def test_shared_memory_is_stored_once(tmp_path):
    model = fitted("AFCM distinct")
    assert np.shares_memory(model.memberships_, model._fitted.of_nodes)
    assert np.shares_memory(model.paper_memberships_, model._fitted.extension.memberships)
    again = load_model(save_model(model, tmp_path / "model.afcm"))
    assert again.memberships_ is again._fitted.of_nodes
    assert again.paper_memberships_ is again._fitted.extension.memberships


def test_info_without_the_model(tmp_path, monkeypatch):
    path = save_model(fitted("Pipeline"), tmp_path / "model.afcm", info={"source": "blobs", "note": [1, None, "ä"]})
    monkeypatch.setattr(documents, "read_array", None)
    found = read_info(path)
    assert (found.format, found.schema, found.estimator) == ("afcm-model", 1, "AFCM")
    assert found.steps == ("sklearn.SimpleImputer", "sklearn.StandardScaler", "AFCM")
    assert found.info == {"source": "blobs", "note": [1, None, "ä"]}
    assert found.versions["afcm"] == afcm.__version__
    assert set(found.versions) == {"afcm", "python", "numpy", "scipy", "scikit-learn"}
    assert found.parameters["kernel"] == "sharpened"
    assert found.fitted["n_samples"] == len(X)
    assert (found.fitted["n_clusters"], found.fitted["n_features_in_"]) == (3, 3)


@pytest.mark.parametrize("name", RECIPES)
def test_info_of_every_model(name, tmp_path):
    found = read_info(save_model(fitted(name), tmp_path / "model.afcm"))
    assert found.parameters.keys() == last(fitted(name)).get_params(deep=False).keys()
    assert found.fitted["n_features_in_"] == last(fitted(name)).n_features_in_


def refused(model, tmp_path, words, **how):
    with pytest.raises(ModelFileError, match=words) as caught:
        save_model(model, tmp_path / "model.afcm", **how)
    assert str(caught.value).startswith(str(tmp_path / "model.afcm"))
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_models_that_are_refused_and_why(tmp_path):
    class Mine(PlainAFCM):
        pass

    noted = clone(fitted("PlainAFCM")).fit(X)
    noted.note = "x"
    halved = PlainAFCM(3).fit(X)
    del halved.labels_
    strange = PlainAFCM(3).fit(X)
    strange.cluster_centers_ = strange.cluster_centers_ * np.nan
    refused(Mine(3), tmp_path, "cannot hold a .*Mine; it holds plain values")
    refused({"a": 1}, tmp_path, "holds a dict where an estimator should be")
    refused(fitted("AFCM")._fitted.walk_graph, tmp_path, "holds a Graph where an estimator")
    refused(noted, tmp_path, "'note' of PlainAFCM, which it does not know; delete it, or say it in info")
    refused(halved, tmp_path, "lacks 'labels_'")
    refused(strange, tmp_path, "cluster_centers_ not finite floats of shape 3×3")
    refused(PlainAFCM(3).fit(X).set_params(n_clusters=2), tmp_path, "n_clusters=2 but 3 fitted clusters")
    refused(PlainAFCM(3).fit(X).set_params(max_iter=0), tmp_path, "wrong parameters .*max_iter=0")
    refused(make_pipeline(FunctionTransformer(), FCM(3)), tmp_path, "steps: cannot hold a .*FunctionTransformer")
    refused(make_pipeline(make_pipeline(FCM(3))), tmp_path, "a step that is a Pipeline")
    refused(FCM(3, init=TABLE), tmp_path, "init: cannot hold a pandas")
    refused(FCM(3, m=2**70), tmp_path, "cannot hold the integer")
    refused(FCM(3, init=X.astype(complex)), tmp_path, "array of complex128")
    refused(FCM(3, init={1: 2}), tmp_path, "keys are not all strings")
    refused(FCM(3), tmp_path, "cannot hold this info", info={"a": np.nan})
    refused(FCM(3), tmp_path, "cannot hold this info", info={"a": X})
    refused(FCM(3), tmp_path, "info must be a dict", info=["a"])
    refused(FCM(3), tmp_path, "cannot hold a description of", info={"a": "x" * documents.DOCUMENT_BYTES})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.float16(2), "cannot hold a float16; use a plain number"),
        (np.complex128(2), "cannot hold a complex128; use a plain number"),
        (np.ma.masked_invalid(X[:3]), "cannot hold a masked array; use a plain one"),
        (sp.csc_array(X[:3]), "cannot hold a sparse matrix of format 'csc'; use CSR"),
        (slice(0, 3), r"cannot hold slice\(0, 3, None\); it holds slice\(None\) alone"),
    ],
)
def test_a_parameter_that_is_refused_is_named_with_the_way_out(value, words, tmp_path):
    refused(FCM(3, init=value), tmp_path, f": init: {words}")


@pytest.mark.parametrize("fault", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_what_stops_the_writing_leaves_the_old_file_and_nothing_else(fault, tmp_path, monkeypatch):
    path = save_model(fitted("FCM"), tmp_path / "model.afcm")
    before = path.read_bytes()

    def stopped(target, document, arrays):
        target.write_bytes(b"PK half")
        raise fault

    monkeypatch.setattr(documents, "write_document", stopped)
    with pytest.raises(type(fault)) as caught:
        save_model(fitted("PlainAFCM"), path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before
    if isinstance(fault, OSError):
        assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))


def test_folders_and_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such folder; create it first.*nowhere"):
        save_model(FCM(3), tmp_path / "nowhere" / "model.afcm")
    for read in (load_model, read_info):
        with pytest.raises(FileNotFoundError, match=r"nowhere\.afcm"):
            read(tmp_path / "nowhere.afcm")
        with pytest.raises(OSError, match=str(tmp_path)):
            read(tmp_path)


def test_a_new_file_has_the_usual_rights_and_paths_may_be_strings(tmp_path):
    (tmp_path / "plain").write_text("")
    path = save_model(FCM(3), str(tmp_path / "model.afcm"))
    assert path == tmp_path / "model.afcm"
    assert path.stat().st_mode == os.stat(tmp_path / "plain").st_mode
    assert isinstance(load_model(str(path)), FCM)


def test_what_compresses_too_well_is_not_compressed_and_loads(tmp_path, monkeypatch):
    model = fitted("CDKM")
    monkeypatch.setattr(documents, "INNOCENT_BYTES", 1)
    monkeypatch.setattr(documents, "INFLATION", 1.2)
    path = save_model(model, tmp_path / "model.afcm")
    with zipfile.ZipFile(path) as archive:
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}
    assert same(load_model(path), model)
