"""One loop for all: the best of several runs, interrupts, journals, and baselines that run by it, too."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm.baselines import CDKM, FCAG, FKPS, RSFKM
from afcm.checkpoints import Checkpoint
from afcm.fitting.loop import (
    STOP_RULES,
    Interrupted,
    Journal,
    Progress,
    Result,
    Run,
    Step,
    alternate,
    best_run,
    never,
    objective_scale,
    run,
    share_still,
)

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


# --- when a run ends ---


@pytest.mark.parametrize(
    ("rule", "step", "still"),
    [
        ("memberships", Step(0.125, 9.0, 1.0, 1.0), True),
        ("memberships", Step(0.126, 1.0, 1.0, 1.0), False),
        ("objective", Step(0.9, 2.0, 1.875, 1.0), True),
        ("objective", Step(0.9, 1.875, 2.0, 1.0), True),
        ("objective", Step(0.0, 2.0, 1.874, 1.0), False),
        ("objective", Step(0.0, -2.0, 2.0, 1.0), False),
        ("either", Step(0.125, 9.0, 1.0, 1.0), True),
        ("either", Step(0.9, 3.0, 3.0, 1.0), True),
        ("either", Step(0.9, 3.01, 3.0, 8.1), True),  # 0.01 · 0.125 · 8.1 is a little more than 0.01
        ("either", Step(0.9, 3.01, 3.0, 7.9), False),
    ],
)
def test_a_stop_rule_compares_changes_with_the_tolerance(rule, step, still):
    assert STOP_RULES[rule](step, 0.125) is still
    assert never(step, 0.125) is False


def test_a_share_is_a_hundredth_of_the_tolerance_of_the_scale():
    assert share_still(Step(9.0, 1.0, 1.0 - 1e-4, 0.1 + 1e-9), 0.1) is True
    assert share_still(Step(9.0, 1.0, 1.0 - 1e-4, 0.1 - 1e-9), 0.1) is False


@dataclass(frozen=True)
class Known:
    """A state that knows its change; of one that is partial, the whole change is asked."""

    objective: float
    change: float
    precision: float = 2.0
    partial: bool = False
    whole: float = 0.0
    memberships = None

    def whole_change(self, before):
        return self.whole + 100 * before.objective


class Script:
    """A problem whose sweeps are written down."""

    def __init__(self, *states, scale=None):
        self.states, self.objective_scale = {id(a): b for a, b in pairwise(states)}, scale

    def sweep(self, state):
        return self.states[id(state)]


def test_sweeps_are_counted_from_those_that_were_done():
    assert [step.index for step in alternate(PROBLEM, Falling(1.0), max_iter=3, tol=0.0)] == [1, 2, 3]
    assert [step.index for step in alternate(PROBLEM, Falling(1.0), max_iter=3, tol=0.0, done=1)] == [2, 3]
    assert list(alternate(PROBLEM, Falling(1.0), max_iter=3, tol=0.0, done=3)) == []


def test_each_sweep_is_of_the_state_before_until_the_rule_is_content():
    found = list(alternate(PROBLEM, Falling(1.0), max_iter=50, tol=0.08))
    np.testing.assert_allclose([step.state.objective for step in found], 0.9 ** np.arange(1, 5), rtol=1e-13)
    np.testing.assert_allclose([step.change for step in found], 0.1 * 0.9 ** np.arange(4), rtol=1e-12)
    assert [step.converged for step in found] == [False, False, False, True]  # 0.0729 is the first below 0.08


def test_a_rule_is_told_the_change_both_objectives_and_the_scale():
    states, told = [Known(5.0, 9.0), Known(-4.0, 0.5), Known(-6.0, 0.25)], []

    def stop(step, tol):
        told.append((*step, tol))
        return False

    for scale in (None, 7.0):
        list(alternate(Script(*states, scale=scale), states[0], max_iter=2, tol=0.125, stop=stop))
    assert told[:2] == [(0.5, 5.0, -4.0, 4.0, 0.125), (0.25, -4.0, -6.0, 6.0, 0.125)]
    assert told[2:] == [(0.5, 5.0, -4.0, 7.0, 0.125), (0.25, -4.0, -6.0, 7.0, 0.125)]
    assert objective_scale(PROBLEM, Falling(-3.0)) == 3.0


def test_a_change_of_some_samples_ends_a_run_only_if_all_stand_still():
    """The whole change is asked only when the partial one would end the run."""
    states = [
        Known(0.0, 9.0),
        Known(1.0, 0.5, partial=True),  # moves: the rest is not asked
        Known(0.0, 0.0, partial=True, whole=0.3),  # stands still, but not all of it
        Known(9.0, 0.0, partial=True, whole=0.01),
        Known(9.0, 0.0, partial=True, whole=9.0),
    ]
    found = list(alternate(Script(*states), states[0], max_iter=9, tol=0.1, stop=STOP_RULES["memberships"]))
    assert [(step.change, step.converged) for step in found] == [(0.5, False), (100.3, False), (0.01, True)]


# --- several runs ---


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

    with pytest.raises(Interrupted, match=r"holds the best model so far$") as stopped:
        run(PROBLEM, Falling(1.0), callback=stop, **LIMITS)
    assert stopped.value.result.n_iter == 3
    assert isinstance(stopped.value.__cause__, KeyboardInterrupt)


class Listening(Journal):
    """Begins with some progress, and remembers what it is told."""

    def __init__(self, progress=None):
        super().__init__()
        self.progress, self.heard, self.asked = progress or Progress(), [], []

    def resume(self, problem, starters):
        self.asked.append((problem, starters))
        return self.progress

    def finish(self, progress, *, interrupted):
        self.heard.append((progress, interrupted))


def objective_of(result):
    return result.state.objective


def interrupt():
    raise KeyboardInterrupt("now")


class Breaking(Falling):
    """A problem whose sweep is interrupted at a certain objective."""

    def sweep(self, state):
        return interrupt() if state.objective == self.objective else super().sweep(state)


def test_an_interrupt_before_there_is_a_result_is_an_ordinary_one():
    for problem, starter in ((PROBLEM, interrupt), (Breaking(1.0), lambda: Falling(1.0))):
        journal = Listening()
        with pytest.raises(KeyboardInterrupt, match="now") as stopped:
            best_run(problem, [starter], key=objective_of, journal=journal, **LIMITS)
        assert not isinstance(stopped.value, Interrupted)
        assert journal.heard == []


@pytest.mark.parametrize("where", ["start", "first sweep"])
def test_an_interrupt_before_the_second_run_has_a_sweep_leaves_the_first(where):
    problem, starter = (PROBLEM, interrupt) if where == "start" else (Breaking(2.0), lambda: Falling(2.0))
    journal = Listening()
    best, raised = best_run(problem, [lambda: Falling(1.0), starter], key=objective_of, journal=journal, **LIMITS)
    assert best.state.objective == pytest.approx(0.9**5)
    assert type(raised) is KeyboardInterrupt
    assert raised.args == ("now",)
    ((progress, interrupted),) = journal.heard
    assert (progress.n_ended, progress.best, progress.current, interrupted) == (1, best, None, True)


@pytest.mark.parametrize(("first", "wins"), [(1.0, "first"), (3.0, "second")])
def test_an_interrupted_run_is_compared_with_those_that_ended(first, wins):
    journal = Listening()
    starts = [lambda: Falling(first), lambda: Falling(2.0), interrupt]
    problem = Breaking(2.0 * 0.9 * 0.9)
    best, raised = best_run(problem, starts, key=objective_of, journal=journal, **LIMITS)
    assert best.state.objective == pytest.approx(0.9**5 if wins == "first" else 2 * 0.9**2)
    assert isinstance(raised, Interrupted)
    assert raised.result.n_iter == 2
    assert raised.__cause__.args == ("now",)
    ((progress, interrupted),) = journal.heard
    assert (progress.n_ended, progress.best, progress.current, interrupted) == (2, best, None, True)


def test_a_fit_continues_after_the_runs_that_ended():
    begun, ended = Result(Falling(2.0), {}, 0, False), Result(Falling(0.5), {}, 0, True)
    starts = [interrupt, interrupt, lambda: Falling(0.1)]
    journal = Listening(Progress(1, ended, begun))
    best, _ = best_run(PROBLEM, starts, key=objective_of, journal=journal, **LIMITS)
    assert best.state.objective == pytest.approx(0.1 * 0.9**5)
    assert journal.asked == [(PROBLEM, starts)]
    ((progress, interrupted),) = journal.heard
    assert (progress.n_ended, progress.best, progress.current, interrupted) == (3, best, None, False)


def test_a_continued_run_that_is_interrupted_before_its_first_sweep_is_begun_again():
    begun, ended = Result(Falling(2.0), {}, 0, False), Result(Falling(0.5), {}, 0, True)
    journal = Listening(Progress(1, ended, begun))
    best, _ = best_run(Breaking(2.0), [None, None], key=objective_of, journal=journal, **LIMITS)
    assert best is ended
    assert journal.heard == [(Progress(1, ended, None), True)]


def test_a_run_that_converged_without_a_sweep_makes_none():
    journal = Listening(Progress(0, None, Result(Falling(2.0), {}, 0, True)))
    best, _ = best_run(PROBLEM, [None], key=objective_of, journal=journal, **LIMITS)
    assert (best.state.objective, best.n_iter, best.converged) == (2.0, 0, True)
    assert {name: column.size for name, column in best.history.items()} == {"objective": 0, "membership_change": 0}


def test_a_fit_without_a_start_is_refused():
    with pytest.raises(ValueError, match="at least one start"):
        best_run(PROBLEM, [], key=objective_of, **LIMITS)


def test_a_journal_that_is_not_told_otherwise_begins_at_the_beginning():
    random, journal = np.random.RandomState(0), Journal()
    assert journal.restore_random(random) is random
    assert journal.resume(PROBLEM, []) == Progress(0, None, None)
    assert journal.note(None, None) is None


# --- histories ---


@dataclass(frozen=True)
class Traced(Falling):
    """γ is known after the first sweep; the trace is a whole number."""

    trace_of: int = 0

    @property
    def trace(self):
        return {"number": self.trace_of}

    def sweep(self, state):
        return Traced(0.5 * state.objective, 4.0 if state.trace_of else None, state.trace_of + 1)


def test_a_history_holds_doubles_with_gaps_and_the_trace_of_the_states():
    history = run(Traced(1.0), Traced(1.0), max_iter=3, tol=0.0).history
    assert list(history) == ["objective", "gamma", "membership_change", "number"]
    assert {column.dtype for column in history.values()} == {np.dtype(np.float64)}
    np.testing.assert_array_equal(history["objective"], [0.5, 0.25, 0.125])
    np.testing.assert_array_equal(history["gamma"], [np.nan, 4.0, 4.0])
    np.testing.assert_array_equal(history["membership_change"], [0.5, 0.25, 0.125])
    np.testing.assert_array_equal(history["number"], [1, 2, 3])


def test_a_history_of_one_sweep_and_how_it_ended():
    result = run(PROBLEM, Falling(1.0), max_iter=9, tol=0.2)
    assert (result.n_iter, result.converged) == (1, True)
    np.testing.assert_allclose(result.history["objective"], [0.9])
    assert Run(result).converged is True
    assert Run(Falling(1.0)).converged is False


def test_a_run_ends_by_the_rule_it_is_given():
    found = run(PROBLEM, Falling(1.0), max_iter=4, tol=0.2, stop=never)
    assert (found.n_iter, found.converged) == (4, False)
    found = run(PROBLEM, Falling(1.0), max_iter=50, tol=0.08, stop=STOP_RULES["objective"])
    assert (found.n_iter, found.converged) == (4, True)


def test_a_history_with_a_gap_is_refused():
    with pytest.raises(ValueError, match="zip"):
        Run(Result(Falling(1.0), {"objective": np.ones(2), "membership_change": np.ones(1)}, 2, False))


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
