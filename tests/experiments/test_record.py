"""Rows go to the disk whole, once, and stay there, whatever happens to the process or the disk."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.experiments.record import Row, RowStore, StoreError, make_key, read_rows
from tests.experiments.synthetic import row, trace
from tests.strategies import quick

ROOT = Path(__file__).parents[2]
names = st.text(max_size=20)
plain = st.none() | st.booleans() | st.integers() | st.floats() | names
nested = st.dictionaries(names, plain | st.lists(plain, max_size=3), max_size=3)
any_row = st.builds(
    Row,
    experiment=names,
    dataset=names,
    method=names,
    params=st.dictionaries(names, plain, max_size=3),
    seed=st.integers(0, 9),
    status=st.sampled_from(["ok", "failed", "skipped"]),
    reason=st.text(st.characters(), max_size=30),  # surrogates too: a reason may hold the name of a file
    metrics=st.dictionaries(st.sampled_from(["ACC", "NMI", "ARI"]), st.floats()),
    seconds=st.floats(),
    details=nested,
    versions=st.dictionaries(names, names, max_size=2),
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "folder" / "rows.jsonl"


def write(path, rows):
    with RowStore(path) as store:
        for each in rows:
            store.append(each)
    return path.read_bytes()


def looks(rows):
    """Rows as text: NaN equals itself, 1 is not 1.0 and not True."""
    return [repr(each) for each in rows]


@given(st.lists(any_row, max_size=4, unique_by=lambda each: each.key))
@quick
def test_what_is_read_is_what_was_written(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    assert write(path, rows).count(b"\n") == len(rows)
    assert looks(read_rows(path)) == looks(rows)
    with RowStore(path) as store:
        assert looks(store.rows.values()) == looks(rows)
        assert list(store.rows) == [each.key for each in rows]


def test_what_is_not_a_number_survives(path):
    write(path, [row(acc=float("nan"), details={"tau": float("inf"), "low": -float("inf")})])
    (back,) = read_rows(path)
    assert str(back.metrics["ACC"]) == "nan"
    assert back.details == {"tau": float("inf"), "low": -float("inf")}


def test_the_key_tells_runs_apart_and_nothing_else():
    base = {"experiment": "e", "dataset": "d", "method": "m", "params": {"a": 1, "b": 2.0}, "seed": 0}
    assert make_key(**base) == make_key(**base | {"params": {"b": 2.0, "a": 1}})
    assert Row(**base, reason="x", metrics={"ACC": 1.0}, seconds=3.0).key == make_key(**base)
    changes = [{"experiment": "x"}, {"dataset": "x"}, {"method": "x"}, {"params": {"a": 1}}, {"seed": 1}]
    changes += [{"params": {"a": 2, "b": 2.0}}, {"params": {}}]
    assert len({make_key(**base | change) for change in [{}, *changes]}) == 1 + len(changes)


def test_rows_are_on_the_disk_before_append_returns(path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(os.fstat(descriptor).st_size))
    with RowStore(path) as store:
        for seed in range(3):
            store.append(row(seed=seed))
            assert flushed[-1] == path.stat().st_size
            assert read_rows(path)[-1].seed == seed
    assert len(flushed) == 3


def test_a_row_is_written_once(path):
    before = write(path, [row(acc=90.0)])
    with RowStore(path) as store:
        store.append(row(acc=10.0))
        store.append(row(seed=1))
        store.append(row(seed=1))
        assert store.rows[row().key].metrics["ACC"] == 90.0
    assert path.read_bytes().startswith(before)
    assert [each.seed for each in read_rows(path)] == [0, 1]


@pytest.mark.parametrize("n_before", [0, 2])
def test_a_torn_last_line_is_cut_wherever_it_was_torn(path, n_before):
    rows = [*(row(seed=seed, reason="π\n") for seed in range(n_before)), trace(seed=9, reason="π\n")]
    whole = write(path, rows)
    start = whole[:-1].rfind(b"\n") + 1
    for cut in range(start, len(whole)):
        path.write_bytes(whole[:cut])
        assert read_rows(path) == rows[:-1]
        assert path.stat().st_size == cut  # a reader changes nothing
        with RowStore(path) as store:
            assert list(store.rows.values()) == rows[:-1]
            assert path.read_bytes() == whole[:start]
            if cut % 50 == 0 or cut == len(whole) - 1:
                store.append(rows[-1])
                assert path.read_bytes() == whole


def test_whole_files_are_left_as_they_are(path):
    whole = write(path, [row(seed=seed) for seed in range(3)])
    with RowStore(path) as store:
        assert len(store.rows) == 3
    assert path.read_bytes() == whole


def test_a_second_writer_is_refused(path):
    pytest.importorskip("fcntl")
    with RowStore(path) as store:
        store.append(row())
        with pytest.raises(StoreError, match=rf"{re.escape(str(path))} is being written by another run; .*--out"):
            RowStore(path).__enter__()
        store.append(row(seed=1))
    with RowStore(path) as store:
        assert len(store.rows) == 2


def test_a_writer_in_another_process_is_refused(path):
    pytest.importorskip("fcntl")
    code = (
        "import sys; from afcm.experiments.record import RowStore, StoreError\n"
        "try: RowStore(sys.argv[1]).__enter__()\n"
        "except StoreError as error: print(error)"
    )
    with RowStore(path):
        done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert "is being written by another run" in done.stdout


def test_without_locks_on_this_system_rows_are_written_all_the_same(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    write(path, [row()])
    write(path, [row(seed=1)])
    assert [each.seed for each in read_rows(path)] == [0, 1]


def test_without_locks_in_this_folder_rows_are_written_all_the_same(path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    asked = []

    def flock(descriptor, how):
        asked.append(how)
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    write(path, [row()])
    write(path, [row(seed=1)])
    assert [each.seed for each in read_rows(path)] == [0, 1]
    assert asked == [fcntl.LOCK_EX | fcntl.LOCK_NB] * 2


NO_ROWS = {
    "nothing": b"",
    "half": b'{"experiment": "table1", "data',
    "a list": b"[1, 2]",
    "null": b"null",
    "no text": b"\xff\xfe",
    "too little": b'{"experiment": "table1"}',
    "too much": json.dumps(vars(row()) | {"colour": "red"}).encode(),
}


@pytest.mark.parametrize("line", NO_ROWS.values(), ids=NO_ROWS)
def test_a_line_that_is_no_row_is_named(path, line):
    first = write(path, [row()])
    damaged = first + line + b"\n" + first.replace(b'"seed": 0', b'"seed": 1')
    path.write_bytes(damaged)
    message = rf"{re.escape(str(path))}, line 2 is not a row \(.+\); repair the line or move the file away"
    with pytest.raises(StoreError, match=message):
        RowStore(path).__enter__()
    with pytest.raises(StoreError, match=message):
        read_rows(path)
    assert path.read_bytes() == damaged
    path.write_bytes(first)
    with RowStore(path) as store:  # the lock was let go
        assert len(store.rows) == 1


FULL_DISK = """
    import resource, signal, sys
    from afcm.experiments.record import RowStore, StoreError
    from tests.experiments.synthetic import row

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for argument in sys.argv[2:]:
        limit = int(argument)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        with RowStore(f"{sys.argv[1]}/{limit}.jsonl") as store:
            try:
                for seed in range(9):
                    store.append(row(seed=seed))
            except StoreError as error:
                print(error, file=sys.stderr)
"""


def test_a_full_disk_is_an_error_and_costs_nothing(tmp_path, path):
    """The limit on the size of files stands in for it: the kernel writes what fits, or nothing."""
    pytest.importorskip("resource")
    length = len(write(path, [row()]))
    limits = {2 * length: 2, 2 * length + 1: 2, 2 * length + length // 2: 2, 3 * length - 1: 2, length - 1: 0}
    script = textwrap.dedent(FULL_DISK)
    arguments = [sys.executable, "-c", script, tmp_path, *map(str, limits)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, cwd=ROOT)
    messages = done.stderr.splitlines()
    assert len(messages) == len(limits)
    for message, (limit, fitting) in zip(messages, limits.items(), strict=True):
        full = tmp_path / f"{limit}.jsonl"
        assert f"cannot write to {full}: " in message
        assert f"the {fitting} rows before are safe: make room and start again" in message
        assert full.stat().st_size == fitting * length  # no scrap of the next
        write(full, [row(seed=seed) for seed in range(9)])
        assert read_rows(full) == [row(seed=seed) for seed in range(9)]


def test_a_row_that_did_not_reach_the_disk_is_taken_back(path, monkeypatch):
    with RowStore(path) as store:
        store.append(row())
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, os.strerror(errno.EIO))))
            with pytest.raises(StoreError, match=f"{os.strerror(errno.EIO)}; the 1 rows before are safe"):
                store.append(row(seed=1))
        assert [each.seed for each in read_rows(path)] == [0]
        store.append(row(seed=1))
    assert [each.seed for each in read_rows(path)] == [0, 1]


def test_a_row_that_was_written_in_part_is_taken_back(path, monkeypatch):
    whole, write_all = write(path, [row()]), os.write
    with RowStore(path) as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", lambda descriptor, line: write_all(descriptor, line[:20]))
            with pytest.raises(StoreError, match=f"{os.strerror(errno.ENOSPC)}; the 1 rows before are safe: make room"):
                store.append(row(seed=1))
        assert path.read_bytes() == whole
        store.append(row(seed=1))
    assert [each.seed for each in read_rows(path)] == [0, 1]


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path):
    (tmp_path / "file").write_text("in the way")
    wanted = tmp_path / "file" / "out" / "rows.jsonl"
    with pytest.raises(StoreError, match=rf"cannot write {re.escape(str(wanted))}: .+; give another folder with --out"):
        RowStore(wanted).__enter__()
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_folder_in_place_of_the_file_is_an_error_that_names_it(path):
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match=re.escape(str(path))):
        RowStore(path).__enter__()


def test_only_an_open_store_takes_rows(path):
    with pytest.raises(StoreError, match="use RowStore in a with block"):
        RowStore(path).append(row())
    with RowStore(path) as store:
        pass
    with pytest.raises(StoreError, match=f"{re.escape(str(path))} is not open"):
        store.append(row())
    assert path.read_bytes() == b""
