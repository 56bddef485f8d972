"""One loop for all: the best of several runs, interrupts, journals, and baselines that run by it, too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm.baselines import CDKM, FCAG, FKPS, RSFKM
from afcm.checkpoints import Checkpoint
from afcm.fitting.loop import Interrupted, Journal, Result, Run, best_run, never, run

X = make_blobs(150, 3, centers=4, cluster_std=3, random_state=0)[0]
BASELINES = {
    "RSFKM": lambda **more: RSFKM(
        4, init="k-means++", fuzziness=3.0, n_init=2, max_iter=15, tol=0.0, random_state=0, **more
    ),
    "CDKM": lambda **more: CDKM(4, n_init=2, max_iter=15, random_state=0, **more),
    "FKPS": lambda **more: FKPS(4, n_init=2, max_iter=15, tol=0.0, random_state=0, **more),
    "FCAG": lambda **more: FCAG(4, n_init=2, max_iter=15, random_state=0, **more),
}


@dataclass(frozen=True)
class Falling:
    """A state whose objective falls by a tenth of itself at each sweep."""

    objective: float
    precision: float | None = None

    @property
    def memberships(self):
        return np.array([[self.objective]])

    def sweep(self, state):
        return Falling(0.9 * state.objective)


LIMITS = {"max_iter": 5, "tol": 0.0, "stop": never}
PROBLEM = Falling(0.0)


def test_the_lowest_key_wins_and_the_first_of_equals():
    starts = [lambda: Falling(3.0), lambda: Falling(1.0), lambda: Falling(1.0)]
    best, interrupt = best_run(PROBLEM, starts, key=lambda result: result.state.objective, **LIMITS)
    assert interrupt is None
    assert best.state.objective == pytest.approx(0.9**5)
    highest, _ = best_run(PROBLEM, starts, key=lambda result: -result.state.objective, **LIMITS)
    assert highest.state.objective == pytest.approx(3 * 0.9**5)
    equal, _ = best_run(PROBLEM, starts, key=lambda _: 0.0, **LIMITS)
    assert equal.state.objective == pytest.approx(3 * 0.9**5)


def test_a_history_has_a_row_for_each_sweep_and_no_gamma_where_there_is_none():
    result = run(PROBLEM, Falling(1.0), **LIMITS)
    np.testing.assert_allclose(result.history["objective"], 0.9 ** np.arange(1, 6))
    np.testing.assert_allclose(result.history["membership_change"], 0.1 * 0.9 ** np.arange(5))
    assert set(result.history) == {"objective", "membership_change"}
    assert (result.n_iter, result.converged) == (5, False)


def test_a_run_that_is_continued_ends_as_if_it_had_never_stopped():
    whole = run(PROBLEM, Falling(1.0), **LIMITS)
    half = run(PROBLEM, Falling(1.0), **(LIMITS | {"max_iter": 2}))

    class Resuming(Journal):
        def resume(self, problem, starters):
            progress = super().resume(problem, starters)
            return type(progress)(0, None, half)

    again, _ = best_run(PROBLEM, [None], key=lambda _: 0.0, journal=Resuming(), **LIMITS)
    assert again.n_iter == 5
    for name, column in whole.history.items():
        np.testing.assert_array_equal(again.history[name], column)


def test_a_run_that_had_converged_makes_no_sweep():
    ended = Result(Falling(1.0), {"objective": np.array([2.0]), "membership_change": np.array([0.5])}, 1, True)
    assert Run(ended).converged

    class Resuming(Journal):
        def resume(self, problem, starters):
            return type(super().resume(problem, starters))(0, None, ended)

    again, _ = best_run(PROBLEM, [None], key=lambda _: 0.0, journal=Resuming(), **LIMITS)
    assert (again.state.objective, again.n_iter) == (1.0, 1)


def test_a_journal_hears_every_sweep_the_progress_and_the_end():
    heard = []

    class Hearing(Journal):
        def note(self, iteration, progress):
            now = progress()
            heard.append((iteration.index, now.n_ended, now.best is not None, now.current.n_iter))

        def finish(self, progress, *, interrupted):
            heard.append((progress.n_ended, interrupted))

    limits = LIMITS | {"max_iter": 2}
    best_run(PROBLEM, [lambda: Falling(2.0), lambda: Falling(1.0)], key=lambda _: 0.0, journal=Hearing(), **limits)
    assert heard == [(1, 0, False, 1), (2, 0, False, 2), (1, 1, True, 1), (2, 1, True, 2), (2, False)]


def test_an_interrupt_keeps_what_there_is():
    def stop(iteration):
        if iteration.index == 3:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="holds the best model so far") as stopped:
        run(PROBLEM, Falling(1.0), callback=stop, **LIMITS)
    assert stopped.value.result.n_iter == 3
    assert isinstance(stopped.value.__cause__, KeyboardInterrupt)


@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")
@pytest.mark.parametrize("name", BASELINES)
def test_baselines_call_back_and_keep_what_they_have_after_ctrl_c(name):
    seen = []

    def look(iteration):
        seen.append(iteration.index)
        if len(seen) == 2:
            raise KeyboardInterrupt

    model = BASELINES[name](callback=look)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert seen in ([1, 2], [1, 1])  # a run may end after one sweep
    assert model.labels_.shape == (150,)


@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")
@pytest.mark.parametrize("name", BASELINES)
def test_baselines_continue_from_a_checkpoint(name, tmp_path):
    whole, count = BASELINES[name]().fit(X), []

    def stop(iteration):
        count.append(iteration)
        if len(count) == 3:
            raise RuntimeError

    path = tmp_path / "fit.ckpt"
    with pytest.raises(RuntimeError):
        BASELINES[name](callback=Checkpoint(path, every=1, callback=stop)).fit(X)
    resumed = BASELINES[name](callback=Checkpoint(path, every=1)).fit(X)
    np.testing.assert_array_equal(resumed.memberships_, whole.memberships_)
    np.testing.assert_array_equal(resumed.history_["objective"], whole.history_["objective"])
