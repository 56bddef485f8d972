"""Warnings name the line of the caller's code, wherever in the package they arise."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from afcm import AFCM, FCM, EntropyFCM, GeneralizedGaussianMixture, PlainAFCM
from afcm.baselines import CDKM, FCAG, FKPS, RSFKM, SpectralBaseline
from afcm.catalogue import BY_NAME
from afcm.exceptions import AFCMWarning, NoClustersWarning, NotConvergedWarning
from afcm.linalg import eigensolver

TOUCHING = make_blobs(200, 3, centers=4, cluster_std=4.0, random_state=0)[0]
CASES = {
    "AFCM": AFCM(4, init="random", max_iter=1, random_state=0),
    "AFCM, anchors": AFCM(4, graph="anchors", init="random", max_iter=1, random_state=0),
    "PlainAFCM": PlainAFCM(4, max_iter=1, random_state=0),
    "FCM": FCM(4, max_iter=1, random_state=0),
    "EntropyFCM": EntropyFCM(4, max_iter=1, random_state=0),
    "GeneralizedGaussianMixture": GeneralizedGaussianMixture(4, max_iter=1, random_state=0),
    "RSFKM": RSFKM(4, max_iter=1, random_state=0),
    "CDKM": CDKM(4, max_iter=1, random_state=0),
    "FKPS": FKPS(4, max_iter=1, random_state=0),
    "FCAG": FCAG(4, max_iter=1, random_state=0),
    "SpectralBaseline": SpectralBaseline(2, n_neighbors=1, random_state=0),
}


def test_every_clusterer_is_tried():
    assert {type(model).__name__ for model in CASES.values()} == set(BY_NAME)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("call", ["fit", "fit_predict", "pipeline"])
def test_a_warning_names_the_callers_file(name, call):
    model = make_pipeline(StandardScaler(), CASES[name]) if call == "pipeline" else CASES[name]
    with pytest.warns(AFCMWarning) as record:
        getattr(model, "fit" if call == "pipeline" else call)(TOUCHING)
    assert {warning.filename for warning in record} == {__file__}


def test_no_clusters_and_partial_fits_name_the_caller_too():
    with pytest.warns(NoClustersWarning) as record:
        AFCM("auto", random_state=0).fit(np.random.default_rng(0).standard_normal((80, 2)))
    assert record[0].filename == __file__
    with pytest.warns(NotConvergedWarning) as record:
        FCM(3, max_iter=1, random_state=0).partial_fit(TOUCHING)
    assert record[0].filename == __file__


def test_a_fit_of_chunks_whose_eigensolver_fails_warns_as_the_one_in_memory(monkeypatch):
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    X = make_blobs(600, 3, centers=4, cluster_std=2.0, random_state=0)[0]
    patient = eigensolver.leading_eigenvectors
    for limit in ("DENSE_LIMIT", "DENSE_PER_VECTOR", "DENSE_MOST"):
        monkeypatch.setattr(eigensolver, limit, 0)
    monkeypatch.setattr(
        eigensolver, "leading_eigenvectors", lambda *a, **k: patient(*a, **(k | {"max_steps": 0, "trace_tol": 0.0}))
    )
    said = []
    for samples in (X, da.from_array(X, chunks=(250, 3))):
        model = AFCM(4, graph="anchors", n_anchors=300, max_iter=1, random_state=0)
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always")
            model.fit(samples)
        said.append([str(warning.message) for warning in record if "eigen-solver" in str(warning.message)])
        assert {warning.filename for warning in record if issubclass(warning.category, AFCMWarning)} == {__file__}
    assert said[0] == said[1] != []
