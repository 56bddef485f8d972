"""Whatever is done to a file, it gives a model that works or a `ModelFileError`, and nothing is unpickled.

`make fuzz` does the same a hundred thousand times (trust/fuzzing.py).
"""

from __future__ import annotations

import pickle
import warnings
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from afcm import load_model, read_info, save_model
from afcm.modelfiles import ModelFileError
from tests import damage
from tests.modelfiles.models import answers, fitted, new_samples

NAMES = ["AFCM", "AFCM given", "GeneralizedGaussianMixture tied", "FCAG", "FKPS projected", "Pipeline", "KMeans"]
# way of damage → examples
WAYS = {
    damage.flipped: 60,
    damage.spliced: 60,
    damage.overwritten: 40,
    damage.renamed: 30,
    damage.inflated: 20,
    damage.reheaded: 40,
    damage.redocumented: 200,
    damage.rearranged: 150,
}


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


def works_or_is_refused(path, new):
    """True if the file is read, and then the model answers."""
    with no_pickles():
        outcome(read_info, path)
        model = outcome(load_model, path)
    if model is not None:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answers_or_says_why(model, new)
    return model is not None


def answers_or_says_why(model, new):
    """A scaler with other numbers can make samples that its clusterer must refuse."""
    try:
        answers(model, new)
    except ValueError as error:
        words = str(error)
    else:
        return
    assert "squared distances overflow" in words or "infinity or a value too large" in words, words


def outcome(read, path):
    """What a file gives, or None if it is refused properly."""
    try:
        return read(path)
    except ModelFileError as error:
        words = str(error)
    assert words.startswith(f"{path}: ")
    assert "\n" not in words
    return None


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_damaged_file_is_refused_or_works(way, saved):
    files, path = saved

    @settings(max_examples=WAYS[way], deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(NAMES).flatmap(lambda name: st.tuples(st.just(name), way(files[name]))))
    def check(case):
        name, data = case
        path.write_bytes(data)
        works_or_is_refused(path, new_samples(name))

    check()
