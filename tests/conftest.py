"""Hypothesis looks for new examples on a developer's machine and repeats the same ones where CI is set."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(scope="module")
def one_thread():
    """Matrices of 3×3 gain nothing from threads, and lose half the time to them on a busy machine."""
    with threadpool_limits(1):
        yield
