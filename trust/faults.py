"""Faults of the machine, each with the tests that cause it for real; the table says what happens if they pass."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

from trust.pages import ROOT


@dataclass(frozen=True)
class Fault:
    """A fault, what then happens, and the tests (pytest's names, without parameters) that make sure of it."""

    name: str
    happens: str
    tests: tuple[str, ...]

    @property
    def missing(self) -> list[str]:
        return [test for test in self.tests if not exists(test)]


FAULTS = (
    Fault(
        "SIGKILL while a file is written",
        "the old file or the new one, whole",
        ("tests/project/test_faults.py::test_a_kill_during_the_writing_leaves_a_whole_file",),
    ),
    Fault(
        "SIGKILL during `afcm reproduce`, at any moment",
        "the rows so far are kept; the next run goes on and ends in the same report",
        ("tests/experiments/test_runner.py::test_a_run_killed_at_any_moment_goes_on_and_ends_in_the_same_report",),
    ),
    Fault(
        "SIGKILL of one worker of `afcm reproduce`",
        "an error that says so; no row is lost",
        ("tests/experiments/test_runner.py::test_a_killed_worker_is_an_error_that_costs_no_row",),
    ),
    Fault(
        "SIGKILL during a fit with a checkpoint, and during its writing",
        "the next fit goes on to the same result, bit by bit",
        (
            "tests/checkpoints/test_resuming.py::test_a_killed_fit_goes_on_to_the_same_result",
            "tests/checkpoints/test_resuming.py::test_a_kill_during_the_writing_leaves_the_checkpoint_before",
        ),
    ),
    Fault(
        "Ctrl-C during a fit",
        "the best model so far is kept, says that it is not finished, and KeyboardInterrupt goes on",
        (
            "tests/estimators/test_interrupts.py::test_the_sweeps_so_far_are_kept",
            "tests/estimators/test_interrupts.py::test_the_best_of_the_runs_so_far_is_kept",
            "tests/estimators/test_interrupts.py::test_the_model_says_that_it_is_not_finished",
            "tests/checkpoints/test_resuming.py::test_ctrl_c_writes_what_is_there",
        ),
    ),
    Fault(
        "Ctrl-C or SIGTERM on the command line",
        "exit code 130 or 143, a line, no traceback and no half file",
        (
            "tests/cli/test_others.py::test_being_stopped_leaves_nothing",
            "tests/cli/test_reproduce.py::test_an_interrupt_ends_all_processes_and_says_how_to_go_on",
        ),
    ),
    Fault(
        "disk full: model, data, checkpoint",
        "the old file stays, nothing beside it; the error names the file (a checkpoint: a warning, the fit goes on)",
        (
            "tests/modelfiles/test_limits.py::test_a_disk_that_is_full",
            "tests/_util/test_atomic_files.py::test_an_error_leaves_what_was_there",
            "tests/datasets/test_archives.py::test_a_write_that_fails_leaves_the_old_file",
            "tests/checkpoints/test_writing.py::test_a_disk_that_is_really_full",
        ),
    ),
    Fault(
        "disk full: `afcm reproduce`",
        "one sentence; no row is lost",
        (
            "tests/experiments/test_record.py::test_a_full_disk_is_an_error_and_costs_nothing",
            "tests/cli/test_reproduce.py::test_a_full_disk_ends_the_run_in_a_sentence_and_costs_no_row",
        ),
    ),
    Fault(
        "cache of downloads that cannot be written, or is damaged",
        "a warning and the data; a damaged file is refused by its checksum or shape",
        (
            "tests/datasets/test_loaders.py::test_a_cache_that_cannot_be_written_costs_a_warning_not_the_data",
            "tests/datasets/test_archives.py::test_a_damaged_archive_is_refused_or_harmless",
        ),
    ),
    Fault(
        "cache of compiled loops damaged",
        "compiled again",
        ("tests/project/test_faults.py::test_a_damaged_cache_of_machine_code_costs_a_compilation",),
    ),
    Fault(
        "model file damaged, foreign or hostile",
        "refused with a sentence; nothing in it is ever run",
        (
            "tests/modelfiles/test_limits.py::test_one_array_referred_to_without_end",
            "tests/modelfiles/test_limits.py::test_unreadable_files_stay_an_oserror",
        ),
    ),
    Fault(
        "eigen-solver too slow for its budget, or not converged",
        "the dense solver takes over on small graphs; else a warning with the residual, J does not rise",
        (
            "tests/project/test_faults.py::test_a_solver_that_stops_early_says_so_and_is_still_right",
            "tests/project/test_faults.py::test_a_search_that_takes_too_long_is_left_to_the_dense_solver",
        ),
    ),
    Fault(
        "typer, rich, pyarrow, matplotlib, Jinja2 or PyTorch missing",
        "an error that says which extra to install",
        (
            "tests/project/test_faults.py::test_the_command_line_says_what_to_install",
            "tests/plots/test_common.py::test_without_matplotlib_the_error_says_what_to_install",
            "tests/report/test_page.py::test_without_jinja_it_says_what_to_install",
            "tests/project/test_faults.py::test_a_device_without_pytorch_says_what_to_install",
        ),
    ),
    Fault(
        "matplotlib too old (Jinja2 and PyTorch pass the same check)",
        "an error with both versions and the way out",
        ("tests/project/test_faults.py::test_packages_that_are_too_old_are_said_with_both_versions",),
    ),
    Fault(
        "Numba missing, too old, or too old for this NumPy",
        "the same results without it; a warning unless it is simply not there",
        (
            "tests/project/test_faults.py::test_a_numba_that_cannot_be_used_costs_time_and_a_word",
            "tests/baselines/test_loops.py::test_numba_is_not_needed",
        ),
    ),
)


def exists(test: str) -> bool:
    file, name = test.split("::")
    path = ROOT / file
    return path.exists() and f"def {name}(" in path.read_text()


def check(fault: Fault) -> str:
    """Run the tests of a fault; how many passed, or what did not."""
    if fault.missing:
        return "no such test: " + ", ".join(fault.missing)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *fault.tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    counts = done.stdout.strip().splitlines()[-1].split(" in ")[0] if done.stdout.strip() else "nothing ran"
    return counts if done.returncode == 0 else f"FAILED: {counts}"
