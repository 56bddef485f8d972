"""The pool of threads: errors come out, and a forked child is not left waiting for threads it does not have."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from afcm import threads


def test_all_items_are_worked_on_and_errors_are_raised():
    seen = []
    threads.for_each(seen.append, range(100))
    assert sorted(seen) == list(range(100))
    with pytest.raises(ZeroDivisionError):
        threads.for_each(lambda value: 1 / value, [1, 0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_computes_with_threads_of_its_own():
    code = (
        "import os; from afcm import threads; threads.for_each(print, [])\n"
        "threads.for_each(abs, range(4)); child = os.fork()\n"
        "if child == 0: threads.for_each(abs, range(4)); os._exit(7)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False, timeout=60).returncode == 7
