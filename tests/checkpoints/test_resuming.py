"""A fit that is stopped and continued ends as if it had never been stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from afcm import EntropyFCM, PlainAFCM
from afcm._util.threads import one_blas_thread
from afcm.catalogue import CATALOGUE
from afcm.checkpoints import Checkpoint
from tests.checkpoints.fits import MODELS, Stopped, X, same, stop_at, stopped

pytestmark = pytest.mark.filterwarnings(
    "ignore::afcm.exceptions.NotConvergedWarning", "ignore::afcm.exceptions.HardMembershipsWarning"
)

VICTIM = """
import os, sys
from pathlib import Path
from afcm.checkpoints import Checkpoint
from afcm._util.threads import one_blas_thread
import tests.checkpoints.fits as t
folder = Path(sys.argv[1])
def broken(target, text, arrays, **how):
    if broken.left == 0:
        target.write_bytes(text[:100])
        os.kill(os.getpid(), 9)
    broken.left -= 1
    write(target, text, arrays, **how)
one_blas_thread().__enter__()
for name, make in t.MODELS.items():
    if os.fork() == 0:
        make(callback=Checkpoint(folder / name, every=2, callback=t.stop_at(17, "kill"))).fit(t.X)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == -9
if os.fork() == 0:
    from afcm.storage import documents
    write, documents.write_document, broken.left = documents.write_document, broken, 3
    t.MODELS["PlainAFCM"](callback=Checkpoint(folder / "writing", every=2)).fit(t.X)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == -9
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A folder of checkpoints of fits that were killed with signal 9."""
    folder = tmp_path_factory.mktemp("killed")
    root = str(Path(__file__).parents[2])
    subprocess.run([sys.executable, "-W", "ignore", "-c", VICTIM, str(folder)], check=True, cwd=root)
    with one_blas_thread():  # as many as there, whatever the environment says to either
        yield folder


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


@pytest.mark.parametrize(
    "make", [entry.cls for entry in CATALOGUE if entry.is_baseline and "callback" in entry.parameters]
)
def test_baselines(make, tmp_path):
    path, swept, every = tmp_path / "c", [], []
    stopped(lambda callback: make(4, random_state=0, callback=callback), path, 2, every=1)
    model = make(4, random_state=0, callback=Checkpoint(path, callback=swept.append)).fit(X)
    assert same(model, make(4, random_state=0, callback=every.append).fit(X))
    assert len(swept) == len(every) - 2


def test_tensors(tmp_path):
    torch = pytest.importorskip("torch", reason="tensors need PyTorch")
    tensor = torch.as_tensor(X)
    for name in ("PlainAFCM", "AFCM"):
        with pytest.raises(Stopped):
            MODELS[name](callback=Checkpoint(tmp_path / name, every=2, callback=stop_at(15))).fit(tensor)
        model = MODELS[name](callback=Checkpoint(tmp_path / name)).fit(tensor)
        assert torch.equal(model.memberships_, MODELS[name]().fit(tensor).memberships_)
