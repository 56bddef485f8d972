"""Process that tries one subject and may die: names of cases come in on stdin, verdicts go out as JSON lines."""

from __future__ import annotations

import copy
import json
import os
import signal
import sys
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from trust import verdicts
from trust.cases import Case, all_cases
from trust.subjects import Fitted, Subject, subject_named

MEMORY = 6 << 30  # bytes of addresses; the system refuses more
PATIENCE = 120.0  # seconds of computing a case may take; then SIGPROF ends the process


def try_case(subject: Subject, case: Case) -> dict[str, str]:
    """Verdict on one case, and the messages that came with it."""
    if (case.only and case.only not in subject.takes) or (case.new and not subject.predicts):
        return {"verdict": verdicts.NO_SUCH, "words": ""}
    try:
        X = case.make()
    except ImportError as missing:
        return {"verdict": verdicts.NO_SUCH, "words": f"needs {missing.name}"}
    before = copy.deepcopy(X)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            fitted = fit_or_predict(subject, case, X)
            verdict = verdicts.judge_fit(case, subject, fitted, heard)
            words = "; ".join(f"{warning.category.__name__}: {warning.message}" for warning in heard)
        except Exception as error:  # whatever it is, it is a result
            verdict, words = verdicts.judge_error(case, error), f"{type(error).__name__}: {error}"
    if not is_same(X, before):
        verdict = verdicts.CHANGES
    return {"verdict": verdict, "words": words[:2000]}


def fit_or_predict(subject: Subject, case: Case, X: Any) -> Fitted:
    """Fit; if the case has new samples, predict them."""
    options = {name: value for name, value in case.options.items() if name in subject.takes}
    fitted = subject.fit(X, case.n_clusters, **options)
    if case.new is None:
        known = fitted.predict is not None and case.expected is not None
        return replace(fitted, again=np.asarray(fitted.predict(X)).argmax(axis=1)) if known else fitted
    memberships = fitted.predict(case.new())
    return Fitted(memberships, np.asarray(memberships).argmax(axis=1))


def is_same(X: Any, before: Any) -> bool:
    if hasattr(X, "tocoo"):
        return bool((abs(X - before) > 0).nnz == 0)
    if hasattr(X, "equals"):
        return bool(X.equals(before))
    if isinstance(X, np.ndarray):
        return X.tobytes() == before.tobytes()
    return True if X is None else str(X) == str(before)


def main() -> None:
    """Try the cases named on stdin; answers go to the real stdout, whatever the subject prints."""
    subject, answers = subject_named(sys.argv[1]), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    limit_memory()
    cases = {case.name: case for case in all_cases()}
    print(json.dumps({"version": subject.version}), file=answers, flush=True)
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        print(json.dumps(try_case(subject, cases[line.rstrip("\n")])), file=answers, flush=True)
        signal.setitimer(signal.ITIMER_PROF, 0)


def limit_memory() -> None:
    """Refuse more memory than a small machine has, so that one case cannot stop the machine."""
    try:
        import resource
    except ImportError:  # not on this system
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


if __name__ == "__main__":
    main()
