"""The command line: what it writes, what it refuses and in which words."""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("typer")
from typer.testing import CliRunner

from afcm.cli import app
from afcm.experiments import runner
from afcm.experiments.record import RowStore, read_rows
from tests.datasets.conftest import REAL_FOLDERS
from tests.experiments.synthetic import row

PATIENCE = 180  # seconds; a few are enough on an idle machine
QUICK = ["--only", "iris", "--method", "CDKM,SC", "--seeds", "2", "--jobs", "1"]
CODES = re.compile(r"\x1b\[[0-9;]*m")  # colours, which some CI systems ask for


@pytest.fixture(autouse=True)
def no_data(tmp_path, monkeypatch):
    """No data sets but Iris and the toys, and a wide terminal."""
    monkeypatch.delenv("AFCM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    runner.open_workbench.cache_clear()
    yield
    runner.open_workbench.cache_clear()


@pytest.fixture
def out(tmp_path):
    return tmp_path / "new" / "out"


@pytest.fixture
def vehicle(tmp_path):
    """A folder with a copy of a real archive, to be damaged."""
    source = next((folder / "vehicle.npz" for folder in REAL_FOLDERS if (folder / "vehicle.npz").is_file()), None)
    if source is None:
        pytest.skip(f"vehicle.npz is in none of {[str(folder) for folder in REAL_FOLDERS]}")
    (tmp_path / "data").mkdir()
    return Path(shutil.copyfile(source, tmp_path / "data" / "vehicle.npz"))


def reproduce(*arguments):
    result = CliRunner().invoke(app, ["reproduce", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def refused(*arguments):
    """Run a command that must end with exit code 2; return its error stream."""
    result = reproduce(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return CODES.sub("", result.stderr)


# What it does.


def test_help_names_the_options():
    overview = CliRunner().invoke(app, ["--help"])
    assert overview.exit_code == 0
    assert "reproduce" in overview.stdout
    text = CODES.sub("", reproduce("--help").stdout)
    for option in ("--data", "--out", "--only", "--method", "--experiment", "--seeds", "--jobs"):
        assert option in text
    assert "A run that was stopped goes on where it was." in " ".join(text.split())


def test_rows_report_and_tables_are_written_and_the_report_is_named(out):
    result = reproduce(*QUICK, "--out", out)
    assert result.exit_code == 0
    assert result.stdout == f"{out / 'report.md'}\n"
    assert {"report.md", "rows.jsonl", "table1.csv", "table2.csv", "ours.csv", "rows-summary.csv"} <= set(
        os.listdir(out)
    )
    rows = read_rows(out / "rows.jsonl")
    assert len(rows) == 2 + 14 * 2
    assert {each.status for each in rows} == {"ok"}
    with (out / "table1.csv").open(newline="") as file:
        accuracy = {line["method"]: line["ours"] for line in csv.DictReader(file) if line["metric"] == "ACC"}
    assert accuracy == {"SC": "94.6667", "CDKM": "88.6667"}
    assert "94.67 ± 0.00 / 94.67 ± 0.00 =" in (out / "report.md").read_text(encoding="utf-8")


def test_a_second_call_runs_nothing_anew(out, monkeypatch):
    reproduce(*QUICK, "--out", out)
    files = {name: (out / name).read_bytes() for name in os.listdir(out)}
    (out / "report.md").unlink()
    monkeypatch.setattr(runner, "run_task", lambda *given: pytest.fail("run again"))
    assert reproduce(*QUICK, "--out", out).exit_code == 0
    assert {name: (out / name).read_bytes() for name in os.listdir(out)} == files


def test_names_come_by_commas_and_by_repetition_in_any_case(out):
    options = ["--only", " IRIS,usps", "--only", "Jaffe50", "--method", "fcm", "--method", "cdkm,ablation-1"]
    result = reproduce(*options, "--experiment", "Table2,table1", "--seeds", 1, "--jobs", 1, "--out", out)
    assert result.exit_code == 0
    found = {(each.experiment, each.dataset, each.method) for each in read_rows(out / "rows.jsonl")}
    assert found == {("table1", "iris", "FCM"), ("table1", "iris", "CDKM"), ("table2", "iris", "Ablation-1")}
    said = CODES.sub("", result.stderr)
    assert "skipping usps" in said
    assert "skipping jaffe50" in said


def test_a_missing_data_set_is_said_and_the_others_run(out):
    result = reproduce("--only", "vehicle,iris", "--method", "CDKM", "--seeds", 1, "--jobs", 1, "--out", out)
    assert result.exit_code == 0
    assert "skipping vehicle: data set 'vehicle' not found" in CODES.sub("", result.stderr)
    assert [each.dataset for each in read_rows(out / "rows.jsonl")] == ["iris"]  # tomorrow vehicle may be there
    assert "data set 'vehicle' not found" in (out / "report.md").read_text(encoding="utf-8")


def test_a_folder_with_archives_is_used(out, vehicle):
    options = ["--only", "vehicle", "--method", "CDKM", "--seeds", 1, "--jobs", 1, "--out", out]
    assert reproduce(*options, "--data", os.path.relpath(vehicle.parent)).exit_code == 0
    (found,) = read_rows(out / "rows.jsonl")
    assert found.status == "ok"


# What it refuses.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", ""], "afcm: an option names nothing"),
        (["--method", "CDKM,"], "afcm: an option names nothing"),
        (["--only", "iris,irsi"], "afcm: data set 'irsi' is unknown; did you mean iris? Known: breast, "),
        (["--method", "FCMER"], "afcm: method 'FCMER' is unknown; did you mean FCM-ER? Known: AFCM, "),
        (["--experiment", "tabel2"], "afcm: experiment 'tabel2' is unknown; did you mean table2? Known: convergence, "),
        (["--only", "[/b]"], "afcm: data set '[/b]' is unknown. Known: "),  # no markup of the terminal's
        (["--only", "[red]"], "afcm: data set '[red]' is unknown"),
        (["--only", "rings", "--method", "SC"], "afcm: nothing to run: "),
        (["--data", "/no/such/[/folder]"], "afcm: --data /no/such/[/folder] is not a folder"),
        (["--data", __file__], f"afcm: --data {__file__} is not a folder"),
        (["--seeds", "0"], "'--seeds'"),
        (["--jobs", "0"], "'--jobs'"),
        (["--seeds", "many"], "'--seeds'"),
        (["--colour", "red"], "--colour"),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(out, arguments, message):
    assert message in refused(*arguments, "--out", out)
    assert not out.exists()


@pytest.fixture
def earlier_rows(out):
    with RowStore(out / "rows.jsonl") as store:
        store.append(row("vehicle", "CDKM"))
    return (out / "rows.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda whole: whole[: len(whole) // 2], "its SHA-256 is "),
        (lambda whole: b"", "its SHA-256 is e3b0c442"),
        (lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]), "its SHA-256 is "),
        (lambda whole: whole * 100, "the file is larger than "),
    ],
    ids=["truncated", "empty", "one bit", "too large"],
)
def test_a_damaged_archive_is_refused_and_no_row_is_touched(out, vehicle, earlier_rows, damage, message):
    vehicle.write_bytes(damage(vehicle.read_bytes()))
    said = refused("--only", "iris,vehicle", "--method", "CDKM", "--data", vehicle.parent, "--out", out)
    assert f"afcm: {vehicle} refused for data set 'vehicle': {message}" in said
    assert "get it again from https://" in said
    assert os.listdir(out) == ["rows.jsonl"]
    assert (out / "rows.jsonl").read_bytes() == earlier_rows


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("in the way")
    said = refused(*QUICK, "--out", tmp_path / "file" / "out")
    assert f"afcm: cannot write {tmp_path / 'file' / 'out' / 'rows.jsonl'}: " in said
    assert "give another folder with --out" in said


def test_a_folder_in_use_is_refused(out):
    pytest.importorskip("fcntl")
    with RowStore(out / "rows.jsonl"):
        assert "rows.jsonl is being written by another run; wait, or use another --out" in refused(*QUICK, "--out", out)


def test_rows_that_are_none_are_refused_and_left_alone(out):
    out.mkdir(parents=True)
    (out / "rows.jsonl").write_text("no row\n")
    assert f"{out / 'rows.jsonl'}, line 1 is not a row" in refused(*QUICK, "--out", out)
    assert (out / "rows.jsonl").read_text() == "no row\n"


# A process of its own.

GRID = ["--experiment", "table1", "--only", "iris", "--method", "AFCM,SC"]  # 630 rows
FULL_DISK = (
    "import resource, afcm.cli, afcm.experiments.runner\n"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))\n"
    "afcm.cli.main()"
)


def command(*arguments):
    return [sys.executable, "-m", "afcm.cli", "reproduce", *map(str, arguments)]


def test_a_real_process_refuses_without_a_traceback(out):
    done = subprocess.run(command("--only", "nothing", "--out", out), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("afcm: data set 'nothing' is unknown")
    assert done.stderr.count("\n") == 1


def test_the_report_shows_the_command_as_it_can_be_typed(tmp_path):
    (tmp_path / "my data").mkdir()
    options = [*QUICK, "--data", "my data", "--out", "out"]
    done = subprocess.run(command(*options), capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{Path('out', 'report.md')}\n"), done.stderr
    made_by = f"Made by `afcm reproduce {' '.join(QUICK)} --data 'my data' --out out`"
    assert made_by in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_full_disk_ends_the_run_in_a_sentence_and_costs_no_row(out):
    pytest.importorskip("resource")
    arguments = [sys.executable, "-c", FULL_DISK, "reproduce", *GRID, "--jobs", "2", "--out", str(out)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    rows = read_rows(out / "rows.jsonl")
    assert len(rows) > 5
    assert f"cannot write to {out / 'rows.jsonl'}: " in done.stderr
    assert f"the {len(rows)} rows before are safe: make room and start again" in done.stderr
    assert 4000 < (out / "rows.jsonl").stat().st_size <= 5000


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs groups of processes")
def test_an_interrupt_ends_all_processes_and_says_how_to_go_on(out):
    options = ["--experiment", "table1", "--only", "iris", "--method", "RSFKM,CDKM", "--jobs", 2, "--out", out]
    process = subprocess.Popen(command(*options), stderr=subprocess.PIPE, text=True, start_new_session=True)
    end = time.monotonic() + PATIENCE
    while n_rows(out, b'"CDKM"') < 10 or n_rows(out, b'"RSFKM"') < 2:  # then one worker is busy and the other waits
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to all of them
    stderr = process.communicate(timeout=PATIENCE)[1]  # which ends when the last process that could write has ended
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert "SpawnProcess" not in stderr  # the first word of a worker's last ones
    assert f"stopped; the rows so far are in {out}: the same command goes on from there" in stderr
    assert len(read_rows(out / "rows.jsonl")) < 10 + 32 * 3


def n_rows(out, name):
    path = out / "rows.jsonl"
    return path.read_bytes().count(b'"method": ' + name) if path.exists() else 0
