"""scikit-learn's own checks: all pass, none is expected to fail. Columns have names."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from afcm.baselines import CDKM, FCAG, FKPS, RSFKM
from afcm.catalogue import CATALOGUE
from tests.baselines.data import blobs


# The checks' tiny data have merged clusters, graphs in pieces and unfinished runs; our warnings say so, rightly.
@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")
@parametrize_with_checks([entry.cls() for entry in CATALOGUE if entry.is_baseline])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("name", "made", "n_columns"),
    [("rsfkm", RSFKM(3), 3), ("cdkm", CDKM(3), 3), ("fkps", FKPS(3), 3), ("fcag", FCAG(3, n_anchors=16), 16)],
)
def test_frames_have_a_named_column_for_each_centre_or_anchor(name, made, n_columns):
    X, _ = blobs()
    model = clone(made).set_params(random_state=0).fit(X)
    expected = model.transform(X)
    frame = model.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == [f"{name}{column}" for column in range(n_columns)]
    np.testing.assert_array_equal(frame.to_numpy(), expected)
