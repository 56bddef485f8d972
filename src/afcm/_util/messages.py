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


def format_share(share: float) -> str:
    """Write a share in whole percent: ``9 %``, and ``under 1 %`` rather than 0.

    >>> format_share(0.093), format_share(0.002), format_share(1.0)
    ('9 %', 'under 1 %', '100 %')
    """
    percent = 100 * share
    if 0 < percent < 0.5:
        return "under 1 %"
    return f"{min(round(percent), 99) if share < 1 else 100} %"


def format_about(share: float) -> str:
    """``about 9 %``, of an estimated share above 0."""
    return f"about {format_share(share)}" if share >= 0.005 else format_share(share)


def to_one_line(error: BaseException, most: int | None = None) -> str:
    """The message of an error (or its class's name) on one line, cut after ``most`` characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if most is None or len(text) <= most else text[: most - 1] + "…"
