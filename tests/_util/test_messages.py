"""Words that messages share."""

from __future__ import annotations

from afcm._util.messages import count_noun, to_one_line


def test_one_or_many():
    assert [count_noun(n, "sample") for n in (0, 1, 10_000)] == ["0 samples", "1 sample", "10,000 samples"]


def test_an_error_on_one_line():
    assert to_one_line(ValueError("a\n  b")) == "a b"
    assert to_one_line(KeyboardInterrupt()) == "KeyboardInterrupt"
    assert to_one_line(ValueError("x" * 30), 10) == "x" * 9 + "…"
