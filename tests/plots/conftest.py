"""Models to draw, axes to draw on, and no figure left open."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from afcm import AFCM, PlainAFCM

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture(scope="session")
def iris():
    return load_iris().data


@pytest.fixture(scope="session")
def graph_model(iris):
    return AFCM(3, graph_weight=1000.0 * len(iris), random_state=0).fit(iris)


@pytest.fixture(scope="session")
def plain_model(iris):
    return PlainAFCM(3, random_state=0).fit(iris)


@pytest.fixture(scope="session")
def soft():
    """Memberships of 60 samples in 4 clusters."""
    return np.random.default_rng(0).dirichlet([0.4] * 4, 60)
