"""Words that messages share."""

from __future__ import annotations

from afcm._util.messages import counted, one_line


def test_one_or_many():
    assert [counted(n, "sample") for n in (0, 1, 10_000)] == ["0 samples", "1 sample", "10,000 samples"]


def test_an_error_on_one_line():
    assert one_line(ValueError("a\n  b")) == "a b"
    assert one_line(KeyboardInterrupt()) == "KeyboardInterrupt"
    assert one_line(ValueError("x" * 30), 10) == "x" * 9 + "…"
