"""The judge: one word for what a clusterer did with a case, by the same rules for all."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from trust.cases import Case
from trust.subjects import Fitted, Subject

# Good: the right answer, a valid one where none is known, a warning of the clusterer's own, an error that helps.
RIGHT, FITS, WARNED, REFUSED = "right", "fits", "warns", "refuses"
# Bad, but heard: an error that does not say what is wrong, or warnings from somewhere inside.
UNCLEAR, NOISE = "unclear error", "noise"
# Bad and silent.
NOT_FINITE, NOT_SIMPLEX, WRONG, ACCEPTS, CHANGES = "NaN", "rows not 1", "wrong", "accepts", "changes X"
DIFFERS = "predict differs"  # from the labels of the fit, for the same samples
CRASH, HANG = "crash", "hangs"
# Not tried.
NO_SUCH, NOT_INSTALLED = "–", "not installed"

GOOD = (RIGHT, FITS, WARNED, REFUSED)
SILENT = (NOT_FINITE, NOT_SIMPLEX, WRONG, ACCEPTS, CHANGES, DIFFERS)
LOUD = (UNCLEAR, NOISE, CRASH, HANG)

ROW_SUM_TOL = 1e-6
FUZZIEST = 1e-6  # memberships that differ by less tell nothing


def judge_fit(case: Case, subject: Subject, fitted: Fitted, heard: list[warnings.WarningMessage]) -> str:
    """Verdict on a fit that came to an end."""
    own = [warning for warning in heard if is_own(warning, subject)]
    fault = find_fault(case, fitted)
    if fault:
        return WARNED if own and fault in (WRONG, ACCEPTS) else fault
    if len(own) < len(heard):
        return NOISE
    return FITS if case.expected is None or case.new else RIGHT


def find_fault(case: Case, fitted: Fitted) -> str:
    """Verdict on a wrong answer, or an empty string."""
    memberships, labels = fitted.memberships, np.asarray(fitted.labels)
    if fitted.again is not None and (np.asarray(fitted.again) != labels).any():
        return DIFFERS
    if memberships is not None:
        memberships = np.asarray(memberships, dtype=np.float64)
        if not np.isfinite(memberships).all():
            return NOT_FINITE
        if memberships.min() < 0 or np.abs(memberships.sum(axis=1) - 1).max() > tolerance(fitted.memberships):
            return NOT_SIMPLEX
        if (memberships[np.arange(len(labels)), labels] < memberships.max(axis=1)).any():
            return WRONG
    if case.refuse:
        return ACCEPTS
    return WRONG if case.expected is not None and not is_right(memberships, labels, np.asarray(case.expected)) else ""


def tolerance(memberships: Any) -> float:
    """Largest distance of a row's sum from 1."""
    return ROW_SUM_TOL if np.asarray(memberships).dtype == np.float64 else 1e3 * ROW_SUM_TOL


def is_right(memberships: Any, labels: Any, expected: Any) -> bool:
    """Whether the partition is the expected one, and the memberships are not all equal."""
    pairs = {(a, b) for a, b in zip(labels.tolist(), expected.tolist(), strict=True)}
    same = len(pairs) == len(set(labels.tolist())) == len(set(expected.tolist()))
    return same and (memberships is None or memberships.shape[1] == 1 or bool(np.ptp(memberships) > FUZZIEST))


def is_own(warning: warnings.WarningMessage, subject: Subject) -> bool:
    """Whether the clusterer itself warns its user; other warnings are by-products of its arithmetic."""
    if subject.ours:
        return any(base.__module__ == "afcm.exceptions" for base in warning.category.__mro__)
    return issubclass(warning.category, UserWarning)


def judge_error(case: Case, error: BaseException) -> str:
    """Verdict on an error: clear if it is a ValueError or TypeError that speaks of what is wrong."""
    clear = isinstance(error, (ValueError, TypeError)) and re.search(case.names, str(error), re.IGNORECASE)
    return REFUSED if clear else UNCLEAR
