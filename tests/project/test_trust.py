"""The judge behind docs/trust.md, and that our column of its tables is what the package does now."""

from __future__ import annotations

import os
import re
import warnings

import numpy as np
import pytest
from trust import faults, pages, running, table, verdicts
from trust.__main__ import write_inputs
from trust.cases import Case, all_cases, blobs, truth
from trust.subjects import Fitted, Subject, all_subjects, subject_named
from trust.worker import try_case

from afcm.exceptions import AFCMWarning

HARD = np.eye(3)[truth()]
# Cheap classes; the others are only run by `make trust`.
QUICK = ("control", "dtype", "missing", "not numbers", "not a table", "weights", "new samples")


def judged(answer, *, expected=None, refuse=False, ours=True, new=None):
    """The verdict on a clusterer that answers so."""
    subject = Subject("it", "afcm", lambda X, c: answer(X), frozenset(), ours=ours)
    return try_case(subject, Case("it", "control", blobs, "overflow", expected=expected, refuse=refuse, new=new))[
        "verdict"
    ]


def fit(memberships=HARD, labels=None, predict=None):
    return Fitted(memberships, memberships.argmax(axis=1) if labels is None else labels, predict)


def failing(error):
    def answer(X):
        raise error

    return answer


def spoiled(X):
    X[0] = 0
    return fit()


@pytest.mark.parametrize(
    ("answer", "how", "verdict"),
    [
        (lambda X: fit(), {"expected": truth()}, "right"),
        (lambda X: fit(HARD[:, [2, 0, 1]]), {"expected": truth()}, "right"),
        (lambda X: fit(), {}, "fits"),
        (lambda X: fit(), {"refuse": True}, "accepts"),
        (lambda X: fit(np.roll(HARD, 1, axis=0)[::-1][np.argsort(truth())]), {"expected": truth()}, "wrong"),
        (lambda X: fit(np.full((90, 3), 1 / 3)), {"expected": truth()}, "wrong"),
        (lambda X: fit(labels=np.zeros(90, dtype=int)), {}, "wrong"),
        (lambda X: fit(np.where(HARD == 1, np.nan, HARD)), {}, "NaN"),
        (lambda X: fit(2 * HARD), {}, "rows not 1"),
        (lambda X: fit(HARD + np.array([1, -1, 0])), {}, "rows not 1"),
        (lambda X: fit(predict=lambda new: HARD[::-1]), {"expected": truth()}, "predict differs"),
        (spoiled, {}, "changes X"),
        (failing(ValueError("squares overflow")), {}, "refuses"),
        (failing(ValueError("math domain error")), {}, "unclear error"),
        (failing(IndexError("squares overflow")), {}, "unclear error"),
    ],
)
def test_the_judge(answer, how, verdict):
    assert judged(answer, **how) == verdict


@pytest.mark.parametrize(
    ("category", "ours", "verdict"),
    [
        (AFCMWarning, True, "fits"),
        (RuntimeWarning, True, "noise"),
        (UserWarning, True, "noise"),
        (UserWarning, False, "fits"),
    ],
)
def test_whose_warning_it_is(category, ours, verdict):
    def answer(X):
        warnings.warn("careful", category, stacklevel=1)
        return fit()

    assert judged(answer, ours=ours) == verdict


def test_a_warning_of_its_own_makes_a_wrong_answer_an_honest_one():
    def answer(X):
        warnings.warn("all merged", AFCMWarning, stacklevel=1)
        return fit(np.full((90, 3), 1 / 3))

    assert judged(answer, expected=truth()) == "warns"


@pytest.mark.skipif(os.name == "nt", reason="needs a shell and signals")
@pytest.mark.parametrize(("signal", "verdict"), [("PROF", "hangs"), ("SEGV", "crash")])
def test_processes_that_end_are_crashes_or_hangs(signal, verdict, tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho \'{{"version": "1"}}\'\nread line\nkill -{signal} $$\n')
    python.chmod(0o755)
    worker = running.Worker(subject_named("AFCM"), str(python))
    assert worker.version == "1"
    assert worker.ask(all_cases()[0])["verdict"] == verdict


def test_a_peer_that_is_not_installed_is_said(monkeypatch):
    monkeypatch.delenv(running.ENVIRONMENT, raising=False)
    version, outcomes = running.run(subject_named("fuzzy-c-means"), all_cases()[:2])
    assert version == ""
    assert {outcome.verdict for outcome in outcomes} == {verdicts.NOT_INSTALLED}
    assert "not installed" in table.summarize({subject_named("fuzzy-c-means"): (version, outcomes)})


# ---- the files in docs/trust


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty place for pages."""
    monkeypatch.setattr(pages, "FOLDER", tmp_path / "trust")
    return tmp_path / "trust"


def outcomes_of(version, verdict):
    """The outcomes of two cases, both with this verdict."""
    cases = [case for case in all_cases() if case.name in ("three clear clusters", "one NaN")]
    return version, [running.Outcome(case, verdict) for case in cases]


def test_peers_that_are_not_installed_keep_what_was_committed(folder, capsys):
    ours, here, gone = map(subject_named, ("AFCM", "scikit-fuzzy", "fuzzy-c-means"))
    first = {ours: outcomes_of("1", "right"), here: outcomes_of("1", "wrong"), gone: outcomes_of("7", "NaN")}
    write_inputs(first)
    assert "kept" not in capsys.readouterr().out
    again = {ours: outcomes_of("2", "fits"), here: outcomes_of("2", "accepts"), gone: outcomes_of("", "not installed")}
    write_inputs(again)
    assert "not installed here, kept as committed: fuzzy-c-means\n" in capsys.readouterr().out

    summary = {cells[0]: cells[1:] for cells in pages.read_rows("summary")}
    assert summary["AFCM"][0] == "afcm 2"
    assert summary["fuzzy-c-means"] == ["fuzzy-c-means 7", "2", "0", "0", "0", "0", "0", "0", "2"]
    cases = {cells[0]: cells[1:] for cells in pages.read_rows("cases")}
    assert cases["case"] == ["afcm", "scikit-fuzzy", "fuzzy-c-means"]
    assert cases["one NaN"] == ["fits", "**accepts**", "**NaN**"]
    first_line = (folder / "cases.md").read_text().splitlines()[0]
    assert first_line.startswith("Made by `make trust` with Python ")
    assert "(fuzzy-c-means: not installed there, so kept from an earlier run)" in first_line


def test_a_new_case_has_no_cell_to_keep(folder):
    ours, gone = map(subject_named, ("AFCM", "fuzzy-c-means"))
    committed = [["case", "afcm", "fuzzy-c-means"], ["one NaN", "clear error", "**NaN**"]]
    tried = {ours: outcomes_of("1", "right"), gone: outcomes_of("", "not installed")}
    lines = table.list_cases(tried, committed).splitlines()
    assert "| one NaN | right | **NaN** |" in lines
    assert "| three clear clusters | right | not installed |" in lines
    assert "| fuzzy-c-means |  | not installed |" in table.summarize(tried, pages.read_rows("summary"))


def test_pages_name_their_command():
    written = sorted(pages.FOLDER.glob("*.md"))
    assert len(written) >= 8
    for path in written:
        assert path.read_text().startswith("Made by `make "), path


def test_ours_is_what_the_page_says_and_nothing_is_silent():
    page = {cells[0]: cells[1] for cells in pages.read_rows("cases")}
    cases = [case for case in all_cases() if case.kind in QUICK]
    outcomes = [outcome for subject in all_subjects() if subject.ours for outcome in running.run_here(subject, cases)]
    bad = [(each.case.name, each.verdict, each.words) for each in outcomes if each.verdict not in (*verdicts.GOOD, "–")]
    assert not bad
    assert {case.name: page.get(case.name) for case in cases} == {
        case.name: table.ours_of(case, outcomes) for case in cases
    }


def test_the_page_has_no_silent_failure_of_ours():
    column = [cells[1] for cells in pages.read_rows("cases")]
    assert len(column) > 150
    assert not [cell for cell in column if re.search(r"\*\*|hangs|crash|unclear|foreign", cell)]


def test_faults_name_tests_that_exist():
    assert len(faults.FAULTS) > 10
    for fault in faults.FAULTS:
        assert not fault.missing
    assert not faults.exists("tests/project/test_faults.py::test_that_is_not_there")
