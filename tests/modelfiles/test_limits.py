"""Sizes that are lies, machines that fail, and models that are well-formed and yet do not work."""

from __future__ import annotations

import json
import shutil
import struct

import numpy as np
import pytest

from afcm import load_model, save_model
from afcm.storage import archives, documents
from tests.modelfiles.models import fitted
from tests.modelfiles.tampering import directory_fields, entries, npy, redocument, refused, rewrite

pytestmark = pytest.mark.usefixtures("no_pickles")


def test_sizes_that_are_lies(path):
    whole = path.read_bytes()
    start = directory_fields(whole, b"arrays/0.npy")
    for offset, value, words in [
        (24, 2**31, "declares more bytes for arrays/0.npy than it can hold"),
        (24, 10, "declares another size|no array of plain numbers|damaged"),
        (20, 2**31, "declares more bytes than it has"),
        (8, 1, "encrypted"),
        (42, 2**31, "damaged"),
        (16, 0, "damaged or cut short .*CRC"),
    ]:
        data = bytearray(whole)
        struct.pack_into("<H" if offset == 8 else "<I", data, start + offset, value)
        path.write_bytes(data)
        refused(path, words, [load_model])


def test_an_array_that_ends_before_its_declared_size(path):
    data = npy(np.ones((60, 3))).replace(b"(60, 3)", b"(61, 3)")
    rewrite(path, entries(path) | {"arrays/0.npy": data})
    whole = bytearray(path.read_bytes())
    struct.pack_into("<I", whole, directory_fields(whole, b"arrays/0.npy") + 24, len(data) + 3 * 8)
    path.write_bytes(whole)
    refused(path, r"ends in the middle of arrays/0\.npy; copy it again, or save the model again", [load_model])


def test_files_that_unpack_to_far_too_much(path, monkeypatch):
    monkeypatch.setattr(documents, "INNOCENT_BYTES", 10_000)
    rewrite(path, entries(path) | {"arrays/0.npy": bytes(10**8)})
    refused(path, "unpacks to more than 200 times its size")
    monkeypatch.setattr(documents, "DOCUMENT_BYTES", 100)
    rewrite(path, {"model.json": b" " * 200})
    refused(path, "far too many")
    monkeypatch.setattr(archives, "MOST_ENTRIES", 1)
    rewrite(path, {"model.json": b" ", "arrays/0.npy": b" "})
    refused(path, "2 entries, too many")


def test_an_entry_is_not_unpacked_beyond_its_declared_size(path):
    data = bytearray(path.read_bytes())
    contents = entries(path)
    rewrite(path, contents | {"model.json": contents["model.json"] + b" " * 10**7})
    data = bytearray(path.read_bytes())
    start = directory_fields(data, b"model.json")
    struct.pack_into("<I", data, start + 24, len(contents["model.json"]))
    path.write_bytes(data)
    refused(path, "damaged|more in model.json than it declares")


def test_one_array_referred_to_without_end(path):
    node = json.loads(entries(path)["model.json"])["model"]["state"]["memberships_"]
    redocument(path, lambda document: document["model"]["params"].update(init=[node] * 100))
    refused(path, "refers to it too often", [load_model])


def test_a_disk_that_is_full(path):
    """A limit on the size of files fails in the middle of the real writing."""
    resource = pytest.importorskip("resource")
    before, (soft, hard) = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="cannot write the model: File too large") as caught:
            save_model(fitted("AFCM auto"), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == str(path)
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == before


def test_unreadable_files_stay_an_oserror(path, monkeypatch):
    def broken(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(documents, "read_array", broken)
    with pytest.raises(OSError, match="Input/output error"):
        load_model(path)


def test_too_little_memory_is_said(path, monkeypatch):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(documents, "read_array", full)
    refused(path, "more than there is memory for", [load_model])


def test_a_model_that_fails_its_trial_is_refused(tmp_path):
    model = fitted("GeneralizedGaussianMixture full")
    path = save_model(model, tmp_path / "model.afcm")
    contents = entries(path)
    name = json.loads(contents["model.json"])["model"]["state"]["scatters_"]["array"]
    rewrite(path, contents | {name: npy(-model.scatters_)})
    refused(path, r"does not work here \(a scatter matrix is singular\)", [load_model])
    rewrite(path, contents)
    redocument(path, lambda document: document["model"]["params"].update(covariance_type="diag"))
    refused(path, "scatters_ that are not of shape 2×3", [load_model])


def test_pipelines_that_are_none(tmp_path):
    path = save_model(fitted("Pipeline"), tmp_path / "model.afcm")
    whole = tmp_path / "whole.afcm"
    shutil.copy(path, whole)
    for steps, words in [
        (5, "Pipeline without"),
        ([], "Pipeline without"),
        ([["a", None]], "Pipeline without"),
        ([{"tuple": ["a", 5]}], "Pipeline w"),
        ([{"tuple": [5, None]}], "Pipeline w"),
    ]:
        rewrite(path, {"model.json": entries(whole)["model.json"]})
        redocument(path, lambda document, steps=steps: document["model"]["params"].update(steps=steps))
        refused(path, words)
    shutil.copy(whole, path)
    redocument(path, lambda document: document["model"]["params"]["steps"][1]["tuple"][1]["state"].pop("mean_"))
    refused(path, "lacks 'mean_' of StandardScaler|does not use", [load_model])
