"""Whatever is done to a file, it gives a model that works or a `ModelFileError`, and nothing is unpickled."""

from __future__ import annotations

import io
import json
import pickle
import warnings
import zipfile
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from afcm import load_model, read_info, save_model
from afcm.modelfiles import ModelFileError

from .models import answers, fitted, new_samples

NAMES = ["AFCM", "AFCM given", "GeneralizedGaussianMixture tied", "FCAG", "FKPS projected", "Pipeline", "KMeans"]
fuzz = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(-3, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
    | st.sampled_from(
        ["auto", "precomputed", "gaussian", "diag", "passthrough", "AFCM", "Graph", "<f8", "arrays/1.npy"]
    )
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["array", "csr", "object", "tuple", "dict", "scalar", "float", "all", "strings", "dtype"]),
            inner,
            max_size=2,
        )
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The bytes of each file, and a place to put changed ones."""
    folder = tmp_path_factory.mktemp("fuzz")
    return {
        name: save_model(fitted(name), folder / "model.afcm").read_bytes() for name in NAMES
    }, folder / "changed.afcm"


@contextmanager
def no_pickles():
    fail = mock.Mock(side_effect=AssertionError("something was unpickled"))
    with mock.patch.multiple(pickle, load=fail, loads=fail, Unpickler=fail):
        yield
    assert not fail.called


def works_or_is_refused(path, data, new):
    path.write_bytes(data)
    with no_pickles():
        outcome(read_info, path)
        model = outcome(load_model, path)
    if model is not None:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answers(model, new)


def outcome(read, path):
    """What a file gives, or None if it is refused properly."""
    try:
        return read(path)
    except ModelFileError as error:
        words = str(error)
    assert words.startswith(f"{path}: ")
    assert "\n" not in words
    return None


def rezipped(contents):
    """The file with other contents."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return target.getvalue()


def unzipped(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@fuzz
@given(st.data())
def test_flipped_bits(saved, data):
    files, path = saved
    name = data.draw(st.sampled_from(NAMES))
    changed = bytearray(files[name])
    for _ in range(data.draw(st.integers(1, 3))):
        # the directory at the end is where most of a zip file's own numbers are
        place = data.draw(st.integers(0, len(changed) - 1) | st.integers(-min(1500, len(changed)), -1))
        changed[place] ^= 1 << data.draw(st.integers(0, 7))
    works_or_is_refused(path, bytes(changed), new_samples(name))


@fuzz
@given(st.data())
def test_cut_or_repeated_pieces(saved, data):
    files, path = saved
    name = data.draw(st.sampled_from(NAMES))
    whole = files[name]
    first, second = sorted(data.draw(st.tuples(*[st.integers(0, len(whole))] * 2)))
    changed = data.draw(
        st.sampled_from([whole[:first], whole[:first] + whole[second:], whole[:second] + whole[first:]])
    )
    works_or_is_refused(path, changed, new_samples(name))


def places(node, here=()):
    """Paths to every value in a document."""
    yield here
    for key, item in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from places(item, (*here, key))


@settings(fuzz, max_examples=200)
@given(st.data())
def test_changed_documents(saved, data):
    files, path = saved
    name = data.draw(st.sampled_from(NAMES))
    contents = unzipped(files[name])
    document = json.loads(contents["model.json"])
    for _ in range(data.draw(st.integers(1, 2))):
        *route, last = data.draw(st.sampled_from([place for place in places(document) if place]))
        owner = document
        for key in route:
            owner = owner[key]
        if data.draw(st.integers(0, 4)) == 0:
            del owner[last]
        else:
            owner[last] = data.draw(values)
    contents["model.json"] = json.dumps(document).encode()
    works_or_is_refused(path, rezipped(contents), new_samples(name))


@settings(fuzz, max_examples=150)
@given(st.data())
def test_changed_arrays(saved, data):
    """Numbers, dtypes and shapes that the model did not have, described as they are."""
    files, path = saved
    name = data.draw(st.sampled_from(NAMES))
    contents = unzipped(files[name])
    key = data.draw(st.sampled_from([key for key in contents if key != "model.json"]))
    array = np.load(io.BytesIO(contents[key]))
    kind = data.draw(st.sampled_from(["values", "shape", "dtype"]))
    if kind == "values" and array.size:
        extremes = [-1, 0, 1, 2**31 - 1] if array.dtype.kind == "i" else [np.nan, np.inf, -1.0, 0.0, 1e300, 1e-300]
        place = data.draw(st.integers(0, array.size - 1) | st.just(slice(None)))
        array.ravel(order="K")[place] = data.draw(st.sampled_from(extremes))
    elif kind == "shape":
        array = data.draw(
            st.sampled_from([array[:-1], array[..., None], array.ravel(), array[:0], array[None], array.T])
        )
    else:
        array = array.astype(data.draw(st.sampled_from(["f4", "f8", "i4", "i8", "u1", "?"])))
    handle = io.BytesIO()
    np.lib.format.write_array(handle, array)
    contents[key] = handle.getvalue()
    document = json.loads(contents["model.json"], object_hook=lambda node: described(node, key, array))
    contents["model.json"] = json.dumps(document).encode()
    works_or_is_refused(path, rezipped(contents), new_samples(name))


def described(node, key, array):
    """References to an array tell its new dtype and shape."""
    return {**node, "dtype": array.dtype.str, "shape": array.shape} if node.get("array") == key else node
