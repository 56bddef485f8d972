"""Long computations tell how far they are, to whoever listens."""

from __future__ import annotations

import numpy as np
import pytest

from afcm import AFCM
from afcm._util import progress
from afcm.neighbors import find_neighbors


def test_nobody_need_listen():
    progress.start_stage("work")(1, 2)


def test_listeners_hear_only_their_own_block():
    heard, outer = [], []
    with progress.listen(lambda *told: outer.append(told)):
        with progress.listen(lambda *told: heard.append(told)):
            progress.start_stage("inner")(1, 2)
        progress.start_stage("outer")
    progress.start_stage("nobody")
    assert heard == [("inner", 0, None), ("inner", 1, 2)]
    assert outer == [("outer", 0, None)]


def test_neighbours_count_up_to_all_samples():
    heard = []
    with progress.listen(lambda *told: heard.append(told)):
        find_neighbors(np.random.default_rng(0).normal(size=(3000, 12)), 5)
    assert heard[0] == ("finding neighbours", 0, None)
    assert heard[-1] == ("finding neighbours", 3000, 3000)
    done = [told[1] for told in heard]
    assert done == sorted(done)


@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")
def test_a_fit_tells_of_neighbours_and_eigenvectors():
    heard = []
    with progress.listen(lambda *told: heard.append(told[0])):
        AFCM(3, kernel="local", random_state=0).fit(np.random.default_rng(0).normal(size=(1000, 8)))
    assert list(dict.fromkeys(heard)) == ["finding neighbours", "solving for eigenvectors"]
