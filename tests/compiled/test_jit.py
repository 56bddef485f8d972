"""Loops are compiled once, and a user who watches the progress is told."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from afcm._util import progress
from afcm.compiled.jit import tolerate_damaged_cache


def fail():
    raise OSError("damaged")


@pytest.mark.parametrize(("load", "told"), [(lambda: "machine code", 0), (lambda: None, 1), (fail, 1)])
def test_a_compilation_is_told_and_a_kept_one_is_not(load, told):
    heard, flushed = [], []
    cache = SimpleNamespace(load_overload=load, flush=lambda: flushed.append(1))
    compiled = tolerate_damaged_cache(SimpleNamespace(_cache=cache))
    with progress.listen(lambda *what: heard.append(what)):
        found = compiled._cache.load_overload()
    assert heard == [("compiling, this once", 0, None)] * told
    assert (found is None) == bool(told)
    assert len(flushed) == (load is fail)
