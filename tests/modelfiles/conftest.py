"""A saved model, and the certainty that nothing is unpickled while it is read."""

from __future__ import annotations

import pickle

import pytest

from afcm import save_model
from tests.modelfiles.models import fitted


@pytest.fixture
def path(tmp_path):
    return save_model(fitted("AFCM"), tmp_path / "model.afcm")


@pytest.fixture
def no_pickles(monkeypatch):
    def fail(*_, **__):
        raise AssertionError("something was unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, fail)
