"""The pool of threads: errors come out, and a forked child is not left waiting for threads it does not have."""

from __future__ import annotations

import os
import subprocess
import sys
from threading import Event, current_thread

import pytest

from afcm._util import progress, threads


def test_all_items_are_worked_on_and_errors_are_raised():
    seen = []
    threads.for_each(seen.append, range(100))
    assert sorted(seen) == list(range(100))
    with pytest.raises(ZeroDivisionError):
        threads.for_each(lambda value: 1 / value, [1, 0])


def test_the_caller_works_too_so_a_busy_pool_delays_nothing():
    free, pool = Event(), threads._pool()
    blockers = [pool.submit(free.wait) for _ in range(threads.count_cores())]
    try:
        assert threads.map_in_threads(abs, range(-20, 0)) == list(range(20, 0, -1))
    finally:
        free.set()
    assert all(blocker.result(timeout=10) for blocker in blockers)


def test_no_item_begins_after_an_error():
    begun = []

    def work(item):
        begun.append(item)
        raise KeyError(item)

    with pytest.raises(KeyError):
        threads.for_each(work, range(100))
    assert len(begun) <= threads.count_cores()
    with threads.without_threads(), pytest.raises(KeyError, match="0"):
        threads.for_each(work, range(100))


def test_the_caller_hears_of_every_finished_item_in_order():
    heard = []
    threads.for_each(abs, range(50), lambda number: heard.append((number, current_thread())))
    assert heard == [(number, current_thread()) for number in range(1, 51)]


@pytest.mark.parametrize("apart", [True, False])
def test_different_works_side_by_side_or_in_turn(apart):
    here = current_thread()
    inside = lambda: (current_thread() is here, threads._single_thread.get())  # noqa: E731
    assert threads.side_by_side(lambda: 1, lambda: "two", apart=apart) == [1, "two"]
    works = threads.side_by_side(inside, inside, apart=apart)
    assert [alone for _, alone in works] == [apart and threads.count_cores() > 1] * 2  # else on all cores
    assert apart or all(mine for mine, _ in works)
    with pytest.raises(ZeroDivisionError):
        threads.side_by_side(lambda: 1 / 0, lambda: 1, apart=apart)


@pytest.mark.parametrize("worth", [True, False])
def test_threads_only_if_they_are_worth_it(worth):
    with threads.threads_if(worth):
        assert threads._single_thread.get() is not worth
    assert not threads._single_thread.get()


def blas_threads():
    return {library["num_threads"] for library in threads._libraries().info() if library["user_api"] == "blas"}


def test_threads_report_to_who_listens_here():
    heard = []
    with progress.listen(lambda *what: heard.append(what)):
        threads.for_each(lambda item: progress.start_stage(f"stage {item}"), range(3))
    assert sorted(heard) == [(f"stage {item}", 0, None) for item in range(3)]


def test_work_in_threads_may_ask_for_threads_itself():
    inner = lambda value: sum(threads.map_in_threads(lambda other: value * other, range(10)))  # noqa: E731
    assert threads.map_in_threads(inner, range(50)) == [45 * value for value in range(50)]


def test_fits_at_the_same_time_leave_blas_as_it_was():
    with threads._libraries().limit(limits=3, user_api="blas"):
        before = blas_threads()
        first, second = threads.one_blas_thread(), threads.one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before != {1}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_computes_with_threads_of_its_own():
    code = (
        "import os; from afcm._util import threads; threads.for_each(print, [])\n"
        "threads.for_each(abs, range(4)); child = os.fork()\n"
        "if child == 0: threads.for_each(abs, range(4)); os._exit(7)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False, timeout=60).returncode == 7
