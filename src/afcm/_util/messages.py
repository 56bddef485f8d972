"""Small words that messages share."""

from __future__ import annotations


def count_noun(count: int, noun: str) -> str:
    """``1 sample``, ``10,000 samples``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def to_one_line(error: BaseException, most: int | None = None) -> str:
    """The message of an error (or its name) on one line, and no longer than ``most`` characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if most is None or len(text) <= most else text[: most - 1] + "…"
