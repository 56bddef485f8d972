"""Rules for constructor parameters: each estimator lists one for each of its parameters, and a fit checks them once.

A rule takes the name and the value of a parameter and raises a `ValueError` that names both and the way out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from afcm.estimators.validation import check_choice, check_integer, check_real

Rule = Callable[[str, Any], object]
Rules = Mapping[str, Rule]


def check_parameters(estimator: Any, rules: Rules) -> None:
    for name, rule in rules.items():
        rule(name, getattr(estimator, name))


def integer(*, or_word: str | None = None, or_none: bool = False, least: int = 1) -> Rule:
    """An integer of at least 1 (or ``least``), or one word, or None."""

    def check(name: str, value: Any) -> None:
        if not (_is_word(value, or_word) or (or_none and value is None)):
            check_integer(name, value, least=least)

    return check


def real(*, positive: bool = False, or_word: str | None = None, or_infinite: bool = False) -> Rule:
    """A finite number that is not negative (or positive), or one word, or infinity."""

    def check(name: str, value: Any) -> None:
        if not (_is_word(value, or_word) or (or_infinite and value == math.inf)):
            check_real(name, value, positive=positive)

    return check


def choice(*words: str, table: Collection[str] = ()) -> Rule:
    """One of a few words, or of the names in a table when the rule is applied."""
    return lambda name, value: check_choice(name, value, (*words, *table))


def share_or_none(name: str, value: Any) -> None:
    """``"auto"``, None, or a share between 0 and 1."""
    if value is None or _is_word(value, "auto"):
        return
    if isinstance(value, str) or not 0 < check_real(name, value) < 1:
        raise ValueError(f"{name}={value!r} must be 'auto', None, or a share above 0 and below 1")


def choice_or_array(*words: str) -> Rule:
    """One of a few words, or an array, which is checked when the samples are there."""
    return lambda name, value: check_choice(name, value, words) if isinstance(value, str) else None


def _is_word(value: Any, word: str | None) -> bool:
    return word is not None and isinstance(value, str) and value == word


# Parameters that every iterative clusterer has.
ITERATIVE: Rules = {"n_clusters": integer(), "max_iter": integer(), "tol": real()}
