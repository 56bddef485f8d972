"""What holds for every estimator, whatever the data."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from tests.properties.problems import few, fitted, problems, quietly
from tests.properties.promises import PROMISES

every = pytest.mark.parametrize("name", PROMISES)


@every
@few
@given(st.data())
def test_memberships_are_shares_and_labels_their_argmax(name, data):
    problem = data.draw(problems(PROMISES[name]))
    model = fitted(PROMISES[name], problem)
    U = model.memberships_
    assert U.shape == problem.start.shape
    assert np.isfinite(U).all()
    assert (U >= 0).all()
    np.testing.assert_allclose(U.sum(axis=1), 1, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.labels_, U.argmax(axis=1))


@every
@few
@given(st.data())
def test_the_objective_never_rises(name, data):
    problem = data.draw(problems(PROMISES[name]))
    history = fitted(PROMISES[name], problem, max_iter=40).history_["objective"]
    assert np.isfinite(history).all()
    assert (np.diff(history) <= 1e-9 * (1 + np.abs(history[1:]))).all()


@pytest.mark.parametrize("name", [name for name, promise in PROMISES.items() if promise.predicts])
@few
@given(st.data())
def test_predictions_for_the_training_data_are_the_fit(name, data):
    problem = data.draw(problems(PROMISES[name]))
    model = fitted(PROMISES[name], problem, max_iter=500)
    predicted = model.predict_proba(problem.X)
    np.testing.assert_allclose(predicted.sum(axis=1), 1, rtol=0, atol=1e-12)
    clear = np.sort(model.memberships_, axis=1)[:, -2:] @ [-1, 1] > 1e-3  # not on the border
    np.testing.assert_array_equal(model.predict(problem.X)[clear], model.labels_[clear])
    np.testing.assert_array_equal(model.predict(problem.X), predicted.argmax(axis=1))


@every
@few
@given(st.data())
def test_a_fit_changes_nothing_but_the_model(name, data):
    problem = data.draw(problems(PROMISES[name]))
    promise, X = PROMISES[name], problem.X
    model = promise.make(problem.n_clusters, random_state=0)
    before, parameters, state = X.copy(), copy.deepcopy(model.get_params()), np.random.get_state()[1].copy()
    X.flags.writeable = False
    fresh = quietly(model, X)
    np.testing.assert_array_equal(X, before)
    assert fresh.get_params() == parameters
    np.testing.assert_array_equal(np.random.get_state()[1], state)


@every
@few
@given(st.data())
def test_the_same_seed_gives_the_same_bits_and_so_do_copies(name, data):
    problem = data.draw(problems(PROMISES[name]))
    promise = PROMISES[name]
    model = quietly(promise.make(problem.n_clusters, random_state=0), problem.X)
    again = quietly(clone(model), problem.X)
    assert clone(model).get_params() == model.get_params()
    loaded = pickle.loads(pickle.dumps(model))
    for other in (again, loaded):
        assert other.memberships_.tobytes() == model.memberships_.tobytes()
        assert other.labels_.tobytes() == model.labels_.tobytes()
    if promise.predicts:
        assert loaded.predict_proba(problem.X).tobytes() == model.predict_proba(problem.X).tobytes()
