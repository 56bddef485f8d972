import dataclasses
import hashlib
import io
import os
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from afcm.datasets import DatasetCorrupt
from afcm.datasets.archives import read_archive, write_archive
from afcm.datasets.records import Archive, Samples


def as_npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npy_claiming(shape):
    """The header of an int64 array of that shape, with nothing behind it."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<i8", "fortran_order": False, "shape": shape})
    return stream.getvalue()


def write_zip(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members:
            file.writestr(name, content)
    return path


def refused(path, info, match, **options):
    with pytest.raises(DatasetCorrupt, match=match) as caught:
        read_archive(path, info.archive, info, **options)
    assert str(path) in str(caught.value)
    assert info.source in str(caught.value)


def test_what_is_read_is_what_was_meant(tiny, tiny_file):
    X, y, missing = read_archive(tiny_file, tiny.archive, tiny)
    np.testing.assert_array_equal(X, np.arange(18).reshape(6, 3)[:, 1:] / 2)
    assert y.tolist() == [1, 1, 0, 0, 2, 2]
    assert missing.tolist() == [[3, 0]]


def test_the_checksum_is_compared_unless_told_not_to(tiny, tiny_file):
    right = hashlib.sha256(tiny_file.read_bytes()).hexdigest()
    known = dataclasses.replace(tiny, archive=dataclasses.replace(tiny.archive, sha256=right))
    other = dataclasses.replace(tiny, archive=dataclasses.replace(tiny.archive, sha256="0" * 64))
    read_archive(tiny_file, known.archive, known)
    refused(tiny_file, other, f"SHA-256 is {right}, expected 0000.*verify=False")
    read_archive(tiny_file, other.archive, other, verify=False)


@pytest.mark.parametrize("part", [0, 0.1, 0.5, 0.99])
def test_a_truncated_archive_is_refused(tiny, tiny_file, part):
    content = tiny_file.read_bytes()
    tiny_file.write_bytes(content[: int(part * len(content))])
    refused(tiny_file, tiny, "not a zip file")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(position=st.integers(0, 10_000), replacement=st.binary(max_size=2))
def test_a_damaged_archive_is_refused_or_harmless(tiny, tiny_file, position, replacement):
    whole = read_archive(tiny_file, tiny.archive, tiny)
    content = bytearray(tiny_file.read_bytes())
    position %= len(content)
    content[position : position + 1] = replacement
    path = tiny_file.with_name("damaged.npz")
    path.write_bytes(content)
    try:
        damaged = read_archive(path, tiny.archive, tiny)
    except DatasetCorrupt:
        return
    for found, expected in zip(damaged, whole, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_bomb_is_refused_before_it_is_unpacked(tiny, tiny_arrays, tmp_path, monkeypatch):
    members = [(f"{name}.npy", as_npy(array)) for name, array in tiny_arrays.items() if name != "X"]
    path = write_zip(tmp_path / "bomb.npz", [("X.npy", bytes(10_000_000)), *members])
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *args: pytest.fail("unpacked"))
    refused(path, tiny, "X.npy would unpack to 10000000 bytes; it can need 4240 at most")


def test_a_bomb_that_lies_about_its_size_is_refused(tiny, tiny_arrays, tmp_path):
    members = [(f"{name}.npy", as_npy(array)) for name, array in tiny_arrays.items() if name != "X"]
    path = write_zip(tmp_path / "liar.npz", [("X.npy", bytes(1_000_000)), *members])
    path.write_bytes(path.read_bytes().replace(struct.pack("<I", 1_000_000), struct.pack("<I", 200)))
    refused(path, tiny, "CRC")


def test_a_header_that_announces_too_much_is_refused(tiny, tiny_arrays, tmp_path):
    members = {f"{name}.npy": as_npy(array) for name, array in tiny_arrays.items()}
    members["missing.npy"] = npy_claiming((10**15, 2))
    path = write_zip(tmp_path / "header.npz", members.items())
    refused(path, tiny, r"missing announces shape \(1000000000000000, 2\)")


def test_a_version_of_the_array_format_that_is_not_known_is_refused(tiny, tiny_arrays, tmp_path):
    def written(version):
        stream = io.BytesIO()
        np.lib.format.write_array(stream, tiny_arrays["X"], version=version)
        return write_zip(tmp_path / "version.npz", (members | {"X.npy": stream.getvalue()}).items())

    members = {f"{name}.npy": as_npy(array) for name, array in tiny_arrays.items()}
    for version in ((1, 0), (2, 0)):
        assert read_archive(written(version), tiny.archive, tiny).X.shape == (6, 2)
    refused(written((3, 0)), tiny, r"it uses version \(3, 0\) of the \.npy format, expected 1\.0 or 2\.0")


def test_a_file_too_large_for_its_data_is_not_even_read(tiny, tmp_path):
    path = tmp_path / "large.npz"
    with path.open("wb") as file:
        file.truncate(10**9)
    refused(path, tiny, "the file is larger than 16960 bytes")


@pytest.mark.parametrize("trick", ["../X.npy", "/tmp/X.npy", "..\\X.npy", "x.npy", "X.npy/", "extra.npy"])
def test_unexpected_member_names_are_refused(tiny, tiny_arrays, tmp_path, trick):
    members = {f"{name}.npy": as_npy(array) for name, array in tiny_arrays.items()}
    members[trick] = members["X.npy"]
    path = write_zip(tmp_path / "trick.npz", members.items())
    refused(path, tiny, "it holds the members .* expected")
    del members["X.npy"]
    refused(write_zip(path, members.items()), tiny, "it holds the members .* expected")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_given_twice_is_refused(tiny, tiny_arrays, tmp_path):
    members = [(f"{name}.npy", as_npy(array)) for name, array in tiny_arrays.items()]
    refused(write_zip(tmp_path / "twice.npz", [*members, members[0]]), tiny, "it holds the members")


def test_other_compressions_are_refused(tiny, tiny_arrays, tmp_path):
    members = [(f"{name}.npy", as_npy(array)) for name, array in tiny_arrays.items()]
    refused(write_zip(tmp_path / "bz2.npz", members, zipfile.ZIP_BZIP2), tiny, "packed by method 12")


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("X", np.zeros((3, 6)), r"X has shape \(3, 6\), expected \(6, 3\)"),
        ("y", np.zeros((6, 1)), r"y has shape \(6, 1\)"),
        ("missing", np.zeros((1, 3)), r"missing has shape \(1, 3\), expected \(None, 2\)"),
        ("y", np.array([None] * 6), "y has dtype object"),
        ("X", np.zeros((6, 3), dtype=complex), "X has dtype complex128"),
        ("X", np.full((6, 3), np.nan), "X holds NaN"),
        ("y", np.array([0, 0, 0, 1, 1, 1]), "the number of classes in y is 2, expected 3"),
        ("scale", np.array(0.0), "scale is 0.0"),
        ("missing", np.array([[6, 1]]), "missing points outside"),
        ("missing", np.array([[0, 0]]), "missing points outside"),
    ],
)
def test_arrays_the_registry_does_not_describe_are_refused(tiny, tiny_file, name, array, message):
    arrays = dict(np.load(tiny_file))
    np.savez(tiny_file, **{**arrays, name: array})
    refused(tiny_file, tiny, message)


@pytest.fixture
def samples():
    return Samples(np.arange(12.0).reshape(6, 2), np.arange(6) // 2, np.array([[1, 0]]))


def test_a_written_archive_reads_back_and_leaves_nothing_else(tiny, samples, tmp_path):
    path = tmp_path / "deep" / "folder" / "copy.npz"
    write_archive(path, samples)
    write_archive(path, samples)
    back = read_archive(path, Archive(file=path.name, extras=("missing",)), tiny)
    for found, expected in zip(back, samples, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("broken", ["numpy.savez_compressed", "os.replace"])
def test_a_write_that_fails_leaves_the_old_file(samples, tmp_path, monkeypatch, broken):
    path = tmp_path / "copy.npz"
    path.write_bytes(b"old")

    def fail(draft, *args, **kwargs):
        if broken == "numpy.savez_compressed":
            draft.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(broken, fail)
    with pytest.raises(OSError, match="disk full"):
        write_archive(path, samples)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]
