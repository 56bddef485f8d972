"""Messages to users: warnings that name the caller's line, and words that several messages share."""

from __future__ import annotations

import sys
import warnings

# Warnings name the line of the user's code that led to them: the first one outside these packages.
INNER_PACKAGES = frozenset({"afcm", "sklearn", "joblib"})


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn, and name the user's own line as the place, however deep in the library the warning arises."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in INNER_PACKAGES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def count_noun(count: int, noun: str) -> str:
    """``1 sample``, ``10,000 samples``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def to_one_line(error: BaseException, most: int | None = None) -> str:
    """The message of an error (or its class's name) on one line, cut after ``most`` characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if most is None or len(text) <= most else text[: most - 1] + "…"
