"""Files that are no checkpoint, not as they were written, or of another fit: refused with the reason, and kept."""

from __future__ import annotations

import io
import json
import pickle
from collections import UserList
from dataclasses import make_dataclass

import numpy as np
import pytest

from afcm import FCM, PlainAFCM, save_model
from afcm.checkpoints import Checkpoint, CheckpointError
from afcm.equations import paper
from afcm.exceptions import CheckpointWarning
from afcm.models.embedded import EmbeddedProblem
from afcm.models.plain import PlainProblem
from tests.checkpoints.fits import MODELS, THREE, X, same, stopped
from tests.damage import rezipped, unzipped
from tests.modelfiles.tampering import npy

pytestmark = pytest.mark.filterwarnings(
    "ignore::afcm.exceptions.NotConvergedWarning", "ignore::afcm.exceptions.HardMembershipsWarning"
)


def foreign(kind, path):
    if kind == "model file":
        save_model(PlainAFCM(2), path)
        return "is a file of another kind"
    if kind == "npz":
        np.savez(path.with_suffix(".npz"), X)
        path.with_suffix(".npz").rename(path)
        return "holds no model.json"
    content = {"pickle": pickle.dumps(X), "empty": b"", "text": b"hello"}[kind]
    path.write_bytes(content)
    return {"pickle": "looks like a pickle", "empty": "is empty", "text": "is not a checkpoint"}[kind]


@pytest.mark.parametrize("kind", ["model file", "npz", "pickle", "empty", "text"])
@pytest.mark.parametrize("resume", [True, False])
def test_a_foreign_file_is_refused_and_kept(kind, resume, tmp_path):
    path = tmp_path / "c"
    said = foreign(kind, path)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=f"{path}: .*{said}.*; delete it to begin anew, or give another path"):
        PlainAFCM(4, callback=Checkpoint(path, every=1, resume=resume)).fit(X)
    assert path.read_bytes() == before


def test_a_damaged_file_is_refused_and_kept(tmp_path):
    path = tmp_path / "c"
    stopped(MODELS["AFCM"], path, 15, every=2)
    whole = path.read_bytes()
    damaged = [whole[:size] for size in (1, 100, len(whole) // 2, len(whole) - 1)]
    for place in range(50, len(whole), len(whole) // 20):
        damaged.append(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
    whole_fit, refused = MODELS["AFCM"]().fit(X), 0
    for content in damaged:
        path.write_bytes(content)
        model = fitted_or_error(path)
        if isinstance(model, CheckpointError):
            assert str(path) in str(model)
            assert path.read_bytes() == content
            refused += 1
        else:  # a byte that does not matter, such as a date
            assert same(model, whole_fit)
    assert refused > len(damaged) - 3


def fitted_or_error(path):
    try:
        return MODELS["AFCM"](callback=Checkpoint(path)).fit(X)
    except CheckpointError as error:
        return error


def repacked(path, change):
    """The file with a change to its document or its arrays, and with checksums that are right."""
    contents = unzipped(path.read_bytes())
    document = json.loads(contents.pop("model.json"))
    arrays = {name: np.load(io.BytesIO(content)) for name, content in contents.items()}
    change(document, arrays)
    packed = {name: npy(array) for name, array in arrays.items()}
    path.write_bytes(rezipped({"model.json": json.dumps(document).encode(), **packed}))


def progress_of(document):
    return document["content"]["progress"]["state"]


def run_of(document):
    return progress_of(document)["current"]["state"]


def state_of(document):
    return run_of(document)["state"]["state"]


def nudge(arrays, node):
    """The last number of an array, by one step of its type."""
    array = arrays[node["array"]]
    last = (-1,) * array.ndim
    array[last] = np.nextafter(array[last], np.inf) if array.dtype.kind == "f" else array[last] ^ 1


TAMPERINGS = {
    "runs that ended": lambda document, _: progress_of(document).update(n_ended=1),
    "sweeps": lambda document, _: run_of(document).update(n_iter=13),
    "objective": lambda document, _: state_of(document).update(objective=state_of(document)["objective"] + 1.0),
    "finished": lambda document, _: document.update(finished=True),
    "facts": lambda document, _: document["facts"].update(max_iter="21"),
    "version": lambda document, _: document.update(afcm="0.0.1"),
    "seal": lambda document, _: document.update(seal=document["seal"][::-1]),
    "centres": lambda document, arrays: nudge(arrays, state_of(document)["centers"]),
    "history": lambda document, arrays: nudge(arrays, run_of(document)["history"]["dict"]["gamma"]),
    "random numbers": lambda document, arrays: nudge(
        arrays, document["content"]["began"]["dict"]["state"]["dict"]["key"]
    ),
}


@pytest.mark.parametrize("change", TAMPERINGS.values(), ids=TAMPERINGS)
def test_a_checkpoint_of_which_one_value_was_changed_is_refused_and_kept(change, tmp_path):
    path = tmp_path / "c"
    stopped(MODELS["PlainAFCM"], path, 15, every=2)
    repacked(path, change)
    before = path.read_bytes()
    with pytest.raises(CheckpointError) as caught:
        MODELS["PlainAFCM"](callback=Checkpoint(path)).fit(X)
    said = "was changed after it was written; delete it to begin anew, or give another path"
    assert str(caught.value) == f"{path}: {said}"
    assert path.read_bytes() == before


def test_a_checkpoint_packed_anew_with_the_same_values_is_continued(tmp_path):
    path, swept = tmp_path / "c", []
    stopped(MODELS["PlainAFCM"], path, 15, every=2)
    repacked(path, lambda document, arrays: None)
    model = MODELS["PlainAFCM"](callback=Checkpoint(path, callback=swept.append)).fit(X)
    assert swept[0].index == 15
    assert same(model, MODELS["PlainAFCM"]().fit(X))


class Centers:
    """Four samples, as an array when they are asked for."""

    def __array__(self, dtype=None, copy=None):
        return np.array(X[:4], dtype=dtype)


CHANGES = [
    (lambda: PlainAFCM(3, **THREE), X, None, "n_clusters is 4 there and 3 here"),
    (lambda: PlainAFCM(4, **(THREE | {"n_init": 2})), X, None, "n_init is 3 there and 2 here"),
    (lambda: PlainAFCM(4, **(THREE | {"random_state": 1})), X, None, "random_state is 0 there and 1 here"),
    (lambda: PlainAFCM(4, **(THREE | {"init": X[:4]})), X, None, "init is 'random' there and an array of shape"),
    (lambda: PlainAFCM(4, **(THREE | {"init": Centers()})), X, None, "init is 'random' there and an array of shape"),
    (lambda: PlainAFCM(4, **THREE), X[:-1], None, r"X shape is \(250, 3\) there and \(249, 3\) here"),
    (lambda: PlainAFCM(4, **THREE), X.astype("float32"), None, "X dtype is float64 there and float32 here"),
    (lambda: PlainAFCM(4, **THREE), X + 1e-9, None, "X content is"),
    (lambda: PlainAFCM(4, **THREE), X, np.arange(250) + 1, "X weights is none there"),
    (lambda: FCM(4, **THREE), X, None, "estimator is PlainAFCM there and FCM here"),
]


@pytest.mark.parametrize(("make", "samples", "weights", "said"), CHANGES)
def test_a_checkpoint_of_another_fit_says_what_differs(make, samples, weights, said, tmp_path):
    path = tmp_path / "c"
    stopped(lambda callback: PlainAFCM(4, **THREE, callback=callback), path, 15)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=f"of another fit: .*{said}.*resume=False"):
        make().set_params(callback=Checkpoint(path)).fit(samples, sample_weight=weights)
    assert path.read_bytes() == before
    make().set_params(callback=Checkpoint(path, resume=False)).fit(samples, sample_weight=weights)
    assert path.read_bytes() != before


def test_other_versions(tmp_path, monkeypatch):
    path = tmp_path / "c"
    stopped(MODELS["PlainAFCM"], path, 15)
    with monkeypatch.context() as patch:
        patch.setattr("afcm.checkpoints.journals.__version__", "99.0")
        with pytest.warns(CheckpointWarning, match="and is continued by 99.0"):
            MODELS["PlainAFCM"](callback=Checkpoint(path)).fit(X)
        patch.setattr("afcm.checkpoints.files.SCHEMA", 99)
        with pytest.raises(CheckpointError, match="schema that this afcm does not read"):
            MODELS["PlainAFCM"](callback=Checkpoint(path)).fit(X)


def state_of_tomorrow(*fields):
    return make_dataclass("CenterState", fields), paper.Statistics


NAMES = ["centers", "precision", "statistics", "objective", "change", "partial"]


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ((paper.Statistics,), "holds a 'CenterState', a class that is not known"),
        (EmbeddedProblem.state_types, "holds a 'CenterState', a class that is not known"),
        (state_of_tomorrow(*NAMES[1:]), "holds 'centers' of CenterState, which is not known"),
        (state_of_tomorrow(*NAMES, "color"), "lacks 'color' of CenterState"),
    ],
)
def test_states_of_other_classes_than_the_problem_declares_are_refused(types, said, tmp_path, monkeypatch):
    path = tmp_path / "c"
    stopped(MODELS["PlainAFCM"], path, 15)
    before = path.read_bytes()
    monkeypatch.setattr(PlainProblem, "state_types", types)
    with pytest.raises(CheckpointError, match=f"{path}: {said}; delete it to begin anew, or give another path"):
        MODELS["PlainAFCM"](callback=Checkpoint(path)).fit(X)
    assert path.read_bytes() == before


def test_starts_that_are_told_apart_by_their_values_alone(tmp_path):
    first = PlainAFCM(4, init=UserList(X[:4]), callback=Checkpoint(tmp_path / "c")).fit(X)
    assert same(PlainAFCM(4, init=X[:4], callback=Checkpoint(tmp_path / "c")).fit(X), first)
    with pytest.raises(CheckpointError, match="init is an array of shape"):
        PlainAFCM(4, init=UserList(X[4:8]), callback=Checkpoint(tmp_path / "c")).fit(X)


def test_what_is_wrong_with_a_checkpoint_is_said_before_a_graph_is_built(tmp_path, monkeypatch):
    path = tmp_path / "c"
    stopped(MODELS["AFCM"], path, 3, every=1)
    monkeypatch.setattr("afcm.AFCM.prepare", lambda *_: pytest.fail("a graph was built"))
    with pytest.raises(CheckpointError, match=r"of another fit: .*n_clusters is 4 there and 3 here"):
        MODELS["AFCM"](callback=Checkpoint(path)).set_params(n_clusters=3).fit(X)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match="delete it to begin anew"):
        MODELS["AFCM"](callback=Checkpoint(path)).fit(X)
    with pytest.raises(FileNotFoundError, match="no such folder for a checkpoint"):
        MODELS["AFCM"](callback=Checkpoint(tmp_path / "no" / "c")).fit(X)


@pytest.mark.parametrize("init", [["a", "b"], {"a": 1}])
def test_a_start_that_holds_no_numbers_is_an_error_of_the_fit(init, tmp_path):
    with pytest.raises(ValueError, match="init"):
        PlainAFCM(4, init=init, callback=Checkpoint(tmp_path / "c")).fit(X)
    assert not (tmp_path / "c").exists()
