"""Files that are not what they claim to be: each is refused in one line, and none of them runs."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from afcm import load_model
from tests.modelfiles.tampering import entries, npy, redocument, refused, rewrite

pytestmark = pytest.mark.usefixtures("no_pickles")


class Payload:
    """Touches a file when it is unpickled."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


def test_pickles_are_not_run_wherever_they_are(path, tmp_path):
    touched = tmp_path / "touched"
    payload = pickle.dumps(Payload(touched))
    contents = entries(path)
    for protocol in (0, 2, 5):
        (tmp_path / "pickle.afcm").write_bytes(pickle.dumps(Payload(touched), protocol=protocol))
        refused(tmp_path / "pickle.afcm", "pickle" if protocol else "is not a model file")
    rewrite(path, contents | {"model.json": payload})
    refused(path, "not proper JSON")
    rewrite(path, contents | {"arrays/0.npy": payload})
    refused(path, r"arrays/0\.npy, which is no array of plain numbers", [load_model])
    rewrite(path, contents | {"arrays/0.npy": npy([Payload(touched)], allow_pickle=True)})
    refused(path, r"arrays/0\.npy, which is no array of plain numbers", [load_model])
    rewrite(path, contents | {"model.pkl": payload})
    refused(path, "holds 'model.pkl'")
    assert not touched.exists()


def test_other_files(tmp_path):
    file = tmp_path / "other.afcm"
    file.write_bytes(b"")
    refused(file, "is empty")
    for head in (b"P", b"PK\x05\x06" + bytes(18), b"\x89PNG", b"a,b\n1,2\n", b"{}", npy([1.0])):
        file.write_bytes(head)
        refused(file, "is not a model file; give a file that afcm.save_model has written")
    with file.open("wb") as handle:
        np.savez(handle, a=np.ones(3))
    refused(file, "an .npz.* holds no model.json")


def test_cut_and_extended_files(path):
    whole = path.read_bytes()
    for end in [*range(1, 80), *range(80, len(whole), 997), len(whole) - 1]:
        path.write_bytes(whole[:end])
        refused(path, "is damaged or cut short|not a model file")
    path.write_bytes(b"x" + whole)
    refused(path, "not a model file")


def test_formats_and_schemas(path):
    redocument(path, lambda document: document.update(format="other-model"))
    refused(path, "is not of the format 'afcm-model'")
    redocument(path, lambda document: document.update(format="afcm-model", schema=2, extra=1))
    refused(path, r"made by a newer afcm \(schema 2, this one reads 1\); upgrade: pip install -U afcm")
    for schema in (0, -1, "1", None, 1.0, True):
        redocument(path, lambda document, schema=schema: document.update(schema=schema))
        refused(path, "schema that is not read any more")
    redocument(path, lambda document: document.update(schema=10**400))
    refused(path, "newer afcm")
    redocument(path, lambda document: document.update(schema=1))
    refused(path, "object with format, schema, versions, info, model")
    redocument(path, lambda document: document.pop("extra"))
    load_model(path)


def test_documents_that_are_not_json_or_more_than_json(path):
    contents = entries(path)
    text = contents["model.json"]
    wrong = [
        b"",
        b"\xff\xfe",
        b"{",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        text + b"}",
    ]
    for document in [*wrong, b'{"a": ' + b"9" * 5000 + b"}"]:
        rewrite(path, contents | {"model.json": document})
        refused(path, "not proper JSON")
    rewrite(path, contents | {"model.json": b"[1]"})
    refused(path, "no JSON object")


def test_values_that_no_model_has(path):
    def setting(value, name="params", key="init"):
        return lambda document: document["model"][name].update({key: value})

    cases = [
        (setting(10**30), "integer beyond 64 bits"),
        (setting([1, {"a": 1}]), "a kind that is not known"),
        (setting({}), "a kind that is not known"),
        (setting({"float": "1.0"}), "the float '1.0'"),
        (setting({"scalar": ["object", 1]}), "NumPy scalar of a type"),
        (setting({"scalar": ["float64", "x"]}), "scalar that is no number"),
        (setting({"dtype": "object"}), "the dtype 'object'"),
        (setting({"strings": [1]}), "names that are no strings"),
        (setting({"array": "../x", "dtype": "<f8", "shape": [1]}), "no array '../x'"),
        (setting({"array": "model.json", "dtype": "<f8", "shape": [1]}), "no array 'model.json'"),
        (setting({"array": "arrays/1.npy", "dtype": "<f8", "shape": [1]}), r"describes arrays/1\.npy as another"),
        (setting({"array": "arrays/1.npy"}), "object with array, dtype, shape"),
        (setting({"object": "os.system", "params": {}, "state": {}}), "a 'os.system', a class that is not known"),
        (setting({"object": "Graph", "params": {}, "state": {}}), "lacks 'affinity' of Graph"),
        (setting(1, key="depth"), "holds 'depth' of AFCM, which is not known"),
        (setting(1, "state", "__class__"), "'__class__' of AFCM, which is not known; it may be from a newer"),
        (setting(1, "state", "predict"), "'predict' of AFCM, which is not known"),
        (setting(None, key="n_neighbors"), "wrong parameters .*n_neighbors=None must be an integer"),
        (setting(0, "state", "n_features_in_"), "n_features_in_ not the integer of at least 1"),
        (setting(True, "state", "n_features_in_"), "n_features_in_ not the integer"),
        (setting(-1.0, "state", "gamma_"), "gamma_ not a finite number above 0"),
        (setting("hot", "state", "membership_state_"), "membership_state_ not one of soft, hard, merged"),
        (setting({"strings": ["a"]}, "state", "feature_names_in_"), "feature_names_in_ not 3 names"),
    ]
    whole = path.read_bytes()
    for change, words in cases:
        path.write_bytes(whole)
        redocument(path, change)
        refused(path, words, [load_model])


def test_a_number_beyond_the_range_of_floats(path):
    redocument(path, lambda document: document["model"]["params"].update(tol=0.125))
    contents = entries(path)
    text = contents["model.json"].replace(b'"tol": 0.125', b'"tol": 1e999')
    assert text.count(b"1e999") == 1
    rewrite(path, contents | {"model.json": text})
    refused(path, "holds a number too large for a float; give a file that afcm.save_model has written", [load_model])


def test_parts_of_another_class_than_they_should_be(path):
    def exchange(document):
        state = document["model"]["state"]
        fitted = state["_fitted"]["state"]
        fitted["similarity"], fitted["walk_graph"] = fitted["walk_graph"], fitted["similarity"]

    redocument(path, exchange)
    refused(
        path,
        "_fitted not FittedGraph with similarity not NeighborSimilarity or GivenSimilarity or AnchorSimilarity; "
        "fit .* again",
        [load_model],
    )


def test_arrays_that_do_not_fit(path):
    contents = entries(path)
    model = json.loads(contents["model.json"])["model"]["state"]
    points = model["_fitted"]["state"]["similarity"]["state"]["points"]["array"]
    affinity = model["_fitted"]["state"]["walk_graph"]["state"]["affinity"]
    X, indices = np.load(io.BytesIO(contents[points])), np.load(io.BytesIO(contents[affinity["indices"]["array"]]))
    offsets = np.load(io.BytesIO(contents[affinity["indptr"]["array"]]))

    def attempt(name, data, words):
        rewrite(path, contents | {name: data})
        refused(path, words, [load_model])

    attempt(points, npy(X[:-1]), "describes .* as another array than it is")
    attempt(points, npy(X.astype(np.float32)), "describes .* as another array")
    attempt(points, npy(np.full_like(X, np.nan)), "points not finite floats of shape 60×3")
    attempt(points, npy(X)[:-8], "declares another size")
    attempt(points, npy(X) + b"12345678", "declares another size")
    attempt(points, npy(X).replace(b"(60, 3)", b"(99, 3)"), "declares another size")
    attempt(points, npy(X).replace(b"'<f8'", b"'<c8'"), "no array of plain numbers")
    attempt(points, npy(X).replace(b"'<f8'", b"'|O8'"), "no array of plain numbers")
    attempt(points, npy(X, version=(2, 0)), "no array of plain numbers")
    attempt(points, npy(np.zeros(3, dtype=[("a", "<f8")])), "no array of plain numbers")
    attempt(points, npy(np.zeros((1,) * 9)), "9 axes, more than 8")
    attempt(points, b"", "no array of plain numbers")
    attempt(affinity["indices"]["array"], npy(indices + 1), "sparse matrix whose parts do not fit")
    attempt(affinity["indices"]["array"], npy(indices - 1), "sparse matrix whose parts do not fit")
    attempt(affinity["indptr"]["array"], npy(offsets[::-1].copy()), "sparse matrix whose parts do not fit")
    attempt("arrays/999.npy", npy(X), r"holds arrays/999\.npy, which the model does not use")
    rewrite(path, {name: data for name, data in contents.items() if name != points})
    refused(path, f"has no array '{points}'", [load_model])


@pytest.mark.parametrize(
    "name", ["../x.npy", "/x.npy", "arrays/../x.npy", "arrays/0.npy/", "arrays/٣.npy", "x", "arrays\\1.npy"]
)
def test_names_that_lead_elsewhere(path, name):
    rewrite(path, entries(path) | {name: b""})
    refused(path, "which no model file does")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_entries_that_are_there_twice_or_in_another_way(path):
    contents = entries(path)
    rewrite(path, [*contents.items(), ("arrays/0.npy", b"")])
    refused(path, "entries, too many or some twice")
    rewrite(path, contents, zipfile.ZIP_BZIP2)
    refused(path, "compressed in another way")
