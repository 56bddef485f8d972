"""A clusterer at the end of a pipeline."""

from __future__ import annotations

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from afcm import PlainAFCM
from afcm._util.pipelines import last_step, transform_before_last_step

X = np.random.default_rng(0).normal(5, 2, (30, 2))


def test_pipelines_and_models_alone():
    model = make_pipeline(StandardScaler(), PlainAFCM(2, random_state=0)).fit(X)
    assert last_step(model) is model[-1]
    assert last_step(model[-1]) is model[-1]
    assert np.allclose(transform_before_last_step(model, X).mean(axis=0), 0)
    assert transform_before_last_step(model, None) is None
    assert transform_before_last_step(model[-1], X) is X
    assert transform_before_last_step(make_pipeline(PlainAFCM(2)), X) is X
