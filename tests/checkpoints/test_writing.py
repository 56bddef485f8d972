"""When and what is written, and what happens when it cannot be."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import zipfile
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.base import clone

from afcm import PlainAFCM
from afcm.checkpoints import Checkpoint
from afcm.checkpoints.facts import describe_fit, hash_array
from afcm.checkpoints.files import write
from afcm.exceptions import CheckpointWarning
from afcm.storage.errors import FormatError
from tests.checkpoints.fits import MODELS, X, same, stopped

pytestmark = pytest.mark.filterwarnings(
    "ignore::afcm.exceptions.NotConvergedWarning", "ignore::afcm.exceptions.HardMembershipsWarning"
)


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

    told = describe_fit(PlainAFCM(4), X.view(Lazy), None)
    assert (told["X shape"], told["X dtype"], "X content" in told) == ("(250, 3)", "float64", False)
    assert "X weights" in told
    assert "X weights" not in describe_fit(PlainAFCM(4), X, X[:, 0].view(Lazy))
    assert describe_fit(PlainAFCM(4), None, None, {"shape": (5, 2)})["X shape"] == "(5, 2)"


def test_the_content_of_an_array_not_its_memory():
    assert hash_array(X) == hash_array(np.asfortranarray(X)) == hash_array(X[::-1][::-1])
    assert hash_array(X) != hash_array(X[::-1])


class Undeclared(NamedTuple):
    """A part of a state that its problem does not tell of."""

    sums: float


@pytest.mark.parametrize("value", [{1, 2}, Undeclared(1.0)])
def test_states_hold_numbers_and_what_their_problem_declares(value, tmp_path):
    with pytest.raises(FormatError, match=rf"progress: cannot hold a .*{type(value).__name__}; it holds plain values"):
        write(tmp_path / "c", True, {}, {"progress": {"a": value}}, {})
    assert not os.listdir(tmp_path)
