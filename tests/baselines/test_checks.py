"""scikit-learn's own checks: all pass, none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from afcm.baselines import CDKM, FCAG, FKPS, RSFKM, SpectralBaseline


# The checks' tiny data have merged clusters, graphs in pieces and unfinished runs; our warnings say so, rightly.
@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")
@parametrize_with_checks([RSFKM(), CDKM(), FKPS(), FCAG(), SpectralBaseline()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
