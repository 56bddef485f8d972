"""A fit that is stopped and continued ends as if it had never been stopped; nothing is lost, and nothing silent."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_blobs

from afcm import AFCM, FCM, EntropyFCM, GeneralizedGaussianMixture, PlainAFCM, save_model
from afcm.checkpoints import Checkpoint, CheckpointError
from afcm.checkpoints.facts import digest, facts
from afcm.checkpoints.states import plain
from afcm.exceptions import CheckpointWarning

pytestmark = pytest.mark.filterwarnings(
    "ignore::afcm.exceptions.NotConvergedWarning", "ignore::afcm.exceptions.HardMembershipsWarning"
)
X = make_blobs(250, 3, centers=4, cluster_std=3, random_state=0)[0]
THREE = {"n_init": 3, "init": "random", "random_state": 0}
MODELS = {
    "PlainAFCM": lambda **more: PlainAFCM(4, **THREE, max_iter=20, **more),
    "FCM": lambda **more: FCM(4, **THREE, max_iter=20, m=1.5, **more),
    "EntropyFCM": lambda **more: EntropyFCM(4, **THREE, max_iter=20, **more),
    "AFCM": lambda **more: AFCM(4, **THREE, max_iter=12, tol=0.0, **more),
    "spectral AFCM": lambda **more: AFCM(4, n_init=3, graph_weight=1e6, random_state=0, tol=1e-8, **more),
    "mixture": lambda **more: GeneralizedGaussianMixture(4, **THREE, max_iter=12, **more),
}


class Stopped(Exception):
    """By `stop_at`."""


def stop_at(sweep, how=Stopped):
    """A callback that ends the fit after so many sweeps of all runs."""
    seen = []

    def look(iteration):
        seen.append(iteration)
        if len(seen) == sweep:
            if how == "kill":
                os.kill(os.getpid(), 9)
            raise how

    return look


def stopped(make, path, sweep, how=Stopped, **more):
    with pytest.raises(how):
        make(callback=Checkpoint(path, callback=stop_at(sweep, how), **more)).fit(X)


def same(one, other):
    """All fitted numbers, to the last bit."""
    assert one.history_.keys() == other.history_.keys()
    pairs = [(one.history_[name], other.history_[name]) for name in one.history_]
    names = [name for name in vars(one) if name.endswith("_") and name != "history_"]
    pairs += [(getattr(one, name), getattr(other, name)) for name in names]
    return len(names) > 5 and all(np.array_equal(a, b) for a, b in pairs)


VICTIM = """
import os, sys
import tests.test_checkpoints as t
folder = t.Path(sys.argv[1])
def broken(target, text, arrays, **how):
    if broken.left == 0:
        target.write_bytes(text[:100])
        os.kill(os.getpid(), 9)
    broken.left -= 1
    write(target, text, arrays, **how)
for name, make in t.MODELS.items():
    if os.fork() == 0:
        make(callback=t.Checkpoint(folder / name, every=2, callback=t.stop_at(17, "kill"))).fit(t.X)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == -9
if os.fork() == 0:
    from afcm.modelfiles import container
    write, container.write, broken.left = container.write, broken, 3
    t.MODELS["PlainAFCM"](callback=t.Checkpoint(folder / "writing", every=2)).fit(t.X)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == -9
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A folder of checkpoints of fits that were killed with signal 9."""
    folder = tmp_path_factory.mktemp("killed")
    root = str(Path(__file__).parents[1])
    subprocess.run([sys.executable, "-W", "ignore", "-c", VICTIM, str(folder)], check=True, cwd=root)
    return folder


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")
@pytest.mark.parametrize("name", MODELS)
def test_a_killed_fit_goes_on_to_the_same_result(name, killed):
    swept, every = [], []
    model = MODELS[name](callback=Checkpoint(killed / name, callback=swept.append)).fit(X)
    assert same(model, MODELS[name](callback=every.append).fit(X))
    # What was written is not swept again, and every sweep of every run after it is the same.
    assert [look.state.objective for look in swept] == [look.state.objective for look in every[16:]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")
def test_a_kill_during_the_writing_leaves_the_checkpoint_before(killed):
    assert [beside for beside in os.listdir(killed) if beside.startswith(".writing-")]
    swept = []
    model = MODELS["PlainAFCM"](callback=Checkpoint(killed / "writing", callback=swept.append)).fit(X)
    assert swept[0].index == 7
    assert same(model, MODELS["PlainAFCM"]().fit(X))
    assert not [beside for beside in os.listdir(killed) if beside.startswith(".writing-")]


@pytest.mark.parametrize("name", ["PlainAFCM", "mixture"])
def test_ctrl_c_writes_what_is_there(name, tmp_path):
    stopped(MODELS[name], tmp_path / "c", 15, KeyboardInterrupt, every=1000)
    swept, every = [], []
    model = MODELS[name](callback=Checkpoint(tmp_path / "c", callback=swept.append)).fit(X)
    assert same(model, MODELS[name](callback=every.append).fit(X))
    assert len(swept) == len(every) - 15


@settings(max_examples=15, deadline=None)
@given(
    name=st.sampled_from(["PlainAFCM", "FCM", "EntropyFCM"]),
    every=st.integers(1, 40),
    stops=st.lists(st.integers(1, 30), max_size=3),
)
def test_checkpoints_and_stops_never_change_the_result(name, every, stops, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "c"
    for sweep in stops:
        with suppress(Stopped):
            MODELS[name](callback=Checkpoint(path, every=every, callback=stop_at(sweep))).fit(X)
    assert same(MODELS[name](callback=Checkpoint(path, every=every)).fit(X), MODELS[name]().fit(X))


def test_a_finished_fit_is_read_and_not_repeated(tmp_path):
    for name in ("PlainAFCM", "AFCM"):
        swept, path = [], tmp_path / name
        first = MODELS[name](callback=Checkpoint(path, seconds=3600)).fit(X)
        assert same(MODELS[name](callback=Checkpoint(path, callback=swept.append)).fit(X), first)
        assert not swept
        MODELS[name](callback=Checkpoint(path, resume=False, callback=swept.append)).fit(X)
        assert swept


@pytest.mark.parametrize("state", [None, "RandomState"])
def test_without_a_seed_the_same_draws_go_on(state, tmp_path):
    def make(**more):
        seeded = np.random.RandomState(7) if state else None
        np.random.seed(7)
        return EntropyFCM(4, n_init=3, random_state=seeded, max_iter=20, **more)

    whole = make().fit(X)
    stopped(make, tmp_path / "c", 25, every=5)
    model = make(callback=Checkpoint(tmp_path / "c"))
    if state is None:
        np.random.seed(8)
        before = np.random.get_state()[1].copy()
        model.fit(X)
        assert np.array_equal(np.random.get_state()[1], before)
    assert same(model.fit(X), whole)


def test_a_random_state_that_cannot_be_kept(tmp_path):
    random = np.random.RandomState(np.random.PCG64(0))
    with pytest.raises(ValueError, match="use an int"):
        PlainAFCM(4, random_state=random, callback=Checkpoint(tmp_path / "c")).fit(X)


@pytest.mark.parametrize("samples", [X.astype(np.float32), np.asfortranarray(X), sp.csr_array(X)])
def test_other_samples(samples, tmp_path):
    make = MODELS["AFCM"]
    with pytest.raises(Stopped):
        make(callback=Checkpoint(tmp_path / "c", every=2, callback=stop_at(15))).fit(samples)
    assert same(make(callback=Checkpoint(tmp_path / "c")).fit(samples), make().fit(samples))


def test_tensors(tmp_path):
    torch = pytest.importorskip("torch", reason="tensors need PyTorch")
    tensor = torch.as_tensor(X)
    for name in ("PlainAFCM", "AFCM"):
        with pytest.raises(Stopped):
            MODELS[name](callback=Checkpoint(tmp_path / name, every=2, callback=stop_at(15))).fit(tensor)
        model = MODELS[name](callback=Checkpoint(tmp_path / name)).fit(tensor)
        assert torch.equal(model.memberships_, MODELS[name]().fit(tensor).memberships_)


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


CHANGES = [
    (lambda: PlainAFCM(3, **THREE), X, None, "n_clusters is 4 there and 3 here"),
    (lambda: PlainAFCM(4, **(THREE | {"n_init": 2})), X, None, "n_init is 3 there and 2 here"),
    (lambda: PlainAFCM(4, **(THREE | {"random_state": 1})), X, None, "random_state is 0 there and 1 here"),
    (lambda: PlainAFCM(4, **(THREE | {"init": X[:4]})), X, None, "init is 'random' there and an array of shape"),
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
        patch.setattr("afcm.__version__", "99.0")
        with pytest.warns(CheckpointWarning, match="and is continued by 99.0"):
            MODELS["PlainAFCM"](callback=Checkpoint(path)).fit(X)
        patch.setattr("afcm.checkpoints.files.SCHEMA", 3)
        with pytest.raises(CheckpointError, match="schema that this afcm does not read"):
            MODELS["PlainAFCM"](callback=Checkpoint(path)).fit(X)
    path.unlink()
    stopped(MODELS["PlainAFCM"], path, 15)
    monkeypatch.setattr("afcm.models.centers.CenterState", CenterStateOfTomorrow)
    with pytest.raises(CheckpointError, match="does not hold a CenterStateOfTomorrow of this version"):
        MODELS["PlainAFCM"](callback=Checkpoint(path)).fit(X)


class CenterStateOfTomorrow(tuple):
    """A state with another field."""

    __slots__ = ()
    _fields = ("centers", "colour")


def test_a_full_disk_is_a_warning_and_the_checkpoint_before_stays(tmp_path, monkeypatch):
    path = tmp_path / "c"
    stopped(MODELS["PlainAFCM"], path, 15, every=3)
    before = path.read_bytes()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numpy.lib.format.write_array", full)
    with pytest.warns(CheckpointWarning, match="No space left on device.*; the fit goes on"):
        model = MODELS["PlainAFCM"](callback=Checkpoint(path, every=1)).fit(X)
    assert same(model, MODELS["PlainAFCM"]().fit(X))
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["c"]


def test_a_disk_that_is_really_full(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    try:
        mounted = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("needs the right to mount a small file system")
    try:
        with pytest.warns(CheckpointWarning, match="No space left on device"):
            model = MODELS["mixture"](callback=Checkpoint(disk / "c", every=1)).fit(np.vstack([X, X + 1, X - 1]))
        assert os.listdir(disk) in (["c"], [])
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert model.converged_ in (True, False)


def test_a_folder_that_is_not_there_is_told_before_the_work(tmp_path):
    swept = []
    with pytest.raises(FileNotFoundError, match="no such folder for a checkpoint; create it first"):
        PlainAFCM(4, callback=Checkpoint(tmp_path / "no" / "c", callback=swept.append)).fit(X)
    assert not swept


def test_the_file_is_json_and_arrays_and_small_for_models_of_centres(tmp_path):
    stopped(MODELS["PlainAFCM"], tmp_path / "c", 30, every=1)
    with zipfile.ZipFile(tmp_path / "c") as archive:
        names = set(archive.namelist()) - {"model.json"}
        arrays = [np.lib.format.read_array(archive.open(name), allow_pickle=False) for name in names]
    assert names
    assert max(array.size for array in arrays) < 700  # the random state's 624 words, and no n×c


def test_writing_as_often_as_asked(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr("afcm.checkpoints.files.write", lambda *given: written.append(given[1]))
    PlainAFCM(4, n_init=2, tol=0, max_iter=9, random_state=0, callback=Checkpoint(tmp_path / "c", every=4)).fit(X)
    assert written == [False] * 4 + [True]
    written.clear()
    PlainAFCM(4, random_state=0, callback=Checkpoint(tmp_path / "c", every=1, seconds=3600)).fit(X)
    assert written == [True]


def test_a_checkpoint_is_a_parameter_like_others(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", every=3)
    model = clone(PlainAFCM(4, callback=checkpoint))
    assert model.callback == checkpoint
    assert pickle.loads(pickle.dumps(model)).callback == checkpoint
    with pytest.raises(TypeError, match="cannot write checkpoints"):
        checkpoint(None)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"every": 0}, "every=0 must be an integer of at least 1"),
        ({"every": True}, "every=True"),
        ({"every": 2.0}, "every=2.0"),
        ({"seconds": -1}, "seconds=-1 must be a number of at least 0"),
        ({"seconds": float("nan")}, "seconds=nan"),
        ({"callback": 3}, "callback=3 must be callable"),
    ],
)
def test_wrong_parameters(wrong, said):
    with pytest.raises(ValueError, match=said):
        Checkpoint("c", **wrong)


def test_lazy_arrays_are_told_by_shape_and_dtype_alone():
    class Lazy(np.ndarray):
        def __dask_graph__(self):
            raise AssertionError("computed")

    told = facts(PlainAFCM(4), X.view(Lazy), None)
    assert (told["X shape"], told["X dtype"], "X content" in told) == ("(250, 3)", "float64", False)
    assert "X weights" in told
    assert "X weights" not in facts(PlainAFCM(4), X, X[:, 0].view(Lazy))
    assert facts(PlainAFCM(4), None, None, {"shape": (5, 2)})["X shape"] == "(5, 2)"


def test_the_content_of_an_array_not_its_memory():
    assert digest(X) == digest(np.asfortranarray(X)) == digest(X[::-1][::-1])
    assert digest(X) != digest(X[::-1])


def test_states_hold_numbers_only():
    with pytest.raises(TypeError, match="cannot hold a set"):
        plain({"a": {1, 2}})
