"""Calibrated memberships: doubt where neighborhoods mix, for fitted and for new samples."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm import AFCM
from afcm.exceptions import HardMembershipsWarning


@pytest.fixture(scope="module")
def touching():
    X, y = make_blobs(400, centers=[[0, 0], [5, 0]], cluster_std=1.4, random_state=0)
    with pytest.warns(HardMembershipsWarning, match="calibrated_memberships"):
        return X, y, AFCM(2, density_strength=0, random_state=0).fit(X)


def test_doubt_is_where_the_labels_are_wrong(touching):
    _, y, model = touching
    wrong = model.labels_ != y
    wrong = ~wrong if wrong.mean() > 0.5 else wrong
    confidence = model.calibrated_memberships().max(axis=1)
    assert 0 < wrong.sum() < 40
    assert confidence[wrong].mean() < confidence[~wrong].mean() - 0.1


def test_new_samples_get_the_mean_of_their_neighbours_and_known_ones_their_own(touching):
    X, _, model = touching
    np.testing.assert_array_equal(model.calibrated_memberships(X[:7]), model.calibrated_memberships()[:7])
    fresh = model.calibrated_memberships(X[:7] + 1e-3)
    np.testing.assert_allclose(fresh.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(fresh, model.calibrated_memberships()[:7], atol=0.15)


def test_samples_of_weight_zero_must_be_given(touching):
    X, _, _ = touching
    with pytest.warns(HardMembershipsWarning):
        model = AFCM(2, density_strength=0, random_state=0).fit(X, sample_weight=np.r_[0.0, np.ones(399)])
    with pytest.raises(ValueError, match="weight 0"):
        model.calibrated_memberships()
    assert model.calibrated_memberships(X[:1]).shape == (1, 2)


def test_negative_similarities_are_refused():
    model = AFCM(2, affinity="precomputed", random_state=0).fit(np.kron(np.eye(2), np.ones((8, 8))))
    for method in (model.predict_proba, model.transform, model.calibrated_memberships):
        with pytest.raises(ValueError, match="negative similarity"):
            method(-np.ones((1, 16)))
