"""scikit-learn's own checks, with every expected failure named and explained."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from afcm import AFCM, PlainAFCM

# The checks' weighted data have 4 different samples, so the models are asked for 3 clusters instead of 8.
ESTIMATORS = [AFCM(3), AFCM.paper(3), PlainAFCM(3), PlainAFCM(3, init="random"), PlainAFCM(3, noise="auto")]

SPARSE = (
    "the check reads classifier_tags of everything that has predict_proba, and expects probabilities of 4 classes; a "
    "clusterer has neither. Sparse data are tested in test_afcm.py"
)
PER_SAMPLE = "random memberships are drawn per sample, and a sample with weight 2 is drawn once, two copies twice"


def expected_failures(estimator):
    failures = {}
    if isinstance(estimator, AFCM):
        failures |= dict.fromkeys(("check_estimator_sparse_array", "check_estimator_sparse_matrix"), SPARSE)
    if estimator.init == "random":
        failures["check_sample_weight_equivalence_on_dense_data"] = PER_SAMPLE
        if isinstance(estimator, AFCM):
            failures["check_sample_weight_equivalence_on_sparse_data"] = PER_SAMPLE
    return failures


@pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")  # the checks fit a few sweeps on tiny data
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
