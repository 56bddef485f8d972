"""A file of schema 1 loads for ever: this one was written by afcm 0.1.0 and must never be written again.

It was made by `save_model(example(), EXAMPLE, info={"made": "for tests/modelfiles/test_promise.py"})`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from afcm import AFCM, load_model, read_info

EXAMPLE = Path(__file__).parents[1] / "data" / "model-v1.afcm"
LABELS = [*[0] * 3, 2, *[0] * 8, *[2] * 12, *[1] * 12, *[0] * 12]  # a hole put the fourth elsewhere


def table():
    """Three groups of twelve, the first of them twice, with two holes."""
    steps = np.linspace(0, 1, 12)
    a = np.concatenate([steps, steps + 1.1, steps + 2.3])
    b = np.concatenate([steps[::-1] ** 2, 1.5 - steps, 2 * steps])
    frame = pd.DataFrame({"a": a, "b": b})
    frame = pd.concat([frame, frame[:12]], ignore_index=True)
    frame.loc[3, "a"] = frame.loc[20, "b"] = np.nan
    return frame


def example():
    """The model that was saved."""
    return make_pipeline(SimpleImputer(), MinMaxScaler(), AFCM(3, random_state=0)).fit(table())


def test_the_file_of_schema_1_loads_and_knows_its_labels():
    model = load_model(EXAMPLE)
    labels = model.predict(table())
    new = pd.DataFrame({"a": [0.5, 1.5, 2.9, np.nan], "b": [0.2, 1.0, 0.7, 1.4]})
    np.testing.assert_array_equal(model[-1].labels_, labels)
    np.testing.assert_array_equal(labels, LABELS)
    np.testing.assert_array_equal(model.predict(new), [0, 2, 1, 2])
    np.testing.assert_allclose(model.predict_proba(new).sum(axis=1), 1)
    np.testing.assert_array_equal(model[-1].calibrated_memberships(), model[-1].memberships_)


def test_the_file_of_schema_1_tells_about_itself():
    found = read_info(EXAMPLE)
    assert (found.schema, found.versions["afcm"], found.estimator) == (1, "0.1.0", "AFCM")
    assert found.info == {"made": "for tests/modelfiles/test_promise.py"}
    assert (found.fitted["n_samples"], found.fitted["n_clusters"]) == (48, 3)
    assert EXAMPLE.stat().st_size < 20_000
