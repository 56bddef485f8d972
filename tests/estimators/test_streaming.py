"""partial_fit: the same statistics, batch by batch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from afcm import FCM, EntropyFCM, PlainAFCM, load_model, save_model
from afcm.equations import paper
from afcm.estimators.streaming import FADING, Stream
from afcm.models.plain import PlainProblem

MODELS = [PlainAFCM(4, random_state=0), EntropyFCM(4, gamma=0.4, random_state=0), FCM(4, random_state=0)]


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(8000, 3, centers=4, cluster_std=1.2, random_state=3)[0]


def apart(first, second):
    """The largest distance between centres that belong together."""
    distances = cdist(first, second)
    return distances[linear_sum_assignment(distances)].max()


@pytest.mark.parametrize("model", MODELS)
def test_batches_lead_to_where_all_samples_do(model, blobs):
    whole, stream = clone(model).fit(blobs), clone(model)
    for batch in np.split(np.random.default_rng(0).permutation(blobs), 20):
        stream.partial_fit(batch)
    assert apart(whole.cluster_centers_, stream.cluster_centers_) < 0.1
    assert (stream.n_batches_, stream.mass_seen_) == (20, 8000)
    assert stream.memberships_.shape == (400, 4)
    if hasattr(whole, "gamma_"):
        assert stream.gamma_ == pytest.approx(whole.gamma_, rel=0.05)
    relabelled = linear_sum_assignment(cdist(whole.cluster_centers_, stream.cluster_centers_))[1]
    assert np.mean(relabelled[whole.predict(blobs)] == stream.predict(blobs)) > 0.99


@pytest.mark.parametrize("model", MODELS)
def test_the_same_batch_again_changes_nothing_once_it_is_learned(model, blobs):
    once = clone(model).set_params(tol=1e-10).fit(blobs[:500])
    again = clone(model).set_params(tol=1e-10)
    for _ in range(4):
        again.partial_fit(blobs[:500])
    assert again.cluster_centers_ == pytest.approx(once.cluster_centers_, abs=1e-4)


def test_one_more_batch_is_the_online_step(blobs):
    first, second = blobs[:300], blobs[300:700]
    model = PlainAFCM(4, random_state=0).partial_fit(first)
    centers, gamma = model.cluster_centers_.copy(), model.gamma_
    model.partial_fit(second)
    totals = moments = scatter = 0.0
    for batch, weight in ((first, 1 - 2**-FADING), (second, 2**-FADING)):
        shares = paper.memberships(paper.squared_distances(batch, centers), gamma) * weight / len(batch)
        totals, moments = totals + shares.sum(axis=0), moments + shares.T @ batch
        scatter += (shares.sum(axis=1) * (batch**2).sum(axis=1)).sum()
    expected = moments / totals[:, None]
    within = scatter - (totals * (expected**2).sum(axis=1)).sum()
    assert model.cluster_centers_ == pytest.approx(expected, abs=1e-8)
    assert model.gamma_ == pytest.approx(0.5 * 3 / within, rel=1e-8)


def test_statistics_about_another_point(blobs):
    points, centers, reference = blobs[:50], blobs[:4] + 0.1, np.array([1.0, -2.0, 0.5])
    memberships, about = paper.expectation(points, centers, 0.3)
    moved = paper.recentered(about, centers, reference)
    assert moved.moments == pytest.approx(memberships.T @ (points - reference))
    assert moved.scatter == pytest.approx(np.sum((points - reference) ** 2))


def test_weights_count_as_copies(blobs):
    weights = np.random.default_rng(0).integers(1, 3, 300)
    batches = blobs[:300], blobs[300:600]
    weighted, copied = PlainAFCM(4, init=blobs[:4]), PlainAFCM(4, init=blobs[:4])
    for batch in batches:
        weighted.partial_fit(batch, sample_weight=weights)
        copied.partial_fit(np.repeat(batch, weights, axis=0))
    assert weighted.cluster_centers_ == pytest.approx(copied.cluster_centers_, abs=1e-6)


def test_a_cluster_that_is_not_seen_any_more_stays(blobs):
    near, far = blobs[:200] * 0.01, blobs[:40] * 0.01 + 100
    model = PlainAFCM(2, random_state=0).partial_fit(np.concatenate([near, far]))
    home = model.cluster_centers_.max()
    for _ in range(30):
        model.partial_fit(near)
    assert model.cluster_centers_.max() == pytest.approx(home, rel=1e-3)


def test_fit_begins_anew(blobs):
    model = PlainAFCM(4, random_state=0).partial_fit(blobs[:300]).partial_fit(blobs[300:600])
    fresh = PlainAFCM(4, random_state=0).fit(blobs[:500])
    assert np.array_equal(model.fit(blobs[:500]).cluster_centers_, fresh.cluster_centers_)
    assert not hasattr(model, "n_batches_")
    assert model.partial_fit(blobs[:300]).n_batches_ == 1


def test_batches_may_be_tiny_but_not_the_first_and_not_of_other_width(blobs):
    with pytest.raises(ValueError, match="n_clusters=4 must be at most n_samples=2"):
        PlainAFCM(4).partial_fit(blobs[:2])
    model = PlainAFCM(4, random_state=0).partial_fit(blobs[:300]).partial_fit(blobs[:1])
    assert model.labels_.shape == (1,)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(blobs[:, :2])
    with pytest.raises(NotFittedError):
        PlainAFCM(4).predict(blobs)


def test_float32_and_frames(blobs):
    pd = pytest.importorskip("pandas")
    model = PlainAFCM(4, random_state=0)
    for batch in np.split(blobs.astype(np.float32), 8):
        model.partial_fit(pd.DataFrame(batch, columns=["a", "b", "c"]))
    assert model.cluster_centers_.dtype == model.memberships_.dtype == np.float32
    assert list(model.feature_names_in_) == ["a", "b", "c"]


def test_a_stream_is_additive(blobs):
    problem = PlainProblem(blobs[:100])
    state = problem.from_centers(blobs[:3])
    stream = Stream.from_batch(state, blobs[0])
    assert stream.totals.sum() == pytest.approx(1)
    assert stream.mass == 100


@pytest.mark.parametrize("model", MODELS)
def test_a_saved_model_goes_on_where_it_was(model, blobs, tmp_path):
    stream = clone(model).partial_fit(blobs[:300]).partial_fit(blobs[300:600])
    loaded = load_model(save_model(stream, tmp_path / "m.afcm"))
    for one in (stream, loaded):
        one.partial_fit(blobs[600:900])
    assert loaded.n_batches_ == 3
    assert np.array_equal(loaded.cluster_centers_, stream.cluster_centers_)


def test_tensors_give_the_same(blobs):
    torch = pytest.importorskip("torch")
    host, tensor = PlainAFCM(4, init=blobs[:4]), PlainAFCM(4, init=blobs[:4])
    for batch in np.split(blobs[:1200], 3):
        host.partial_fit(batch)
        tensor.partial_fit(torch.as_tensor(batch))
    assert isinstance(tensor.cluster_centers_, torch.Tensor)
    assert np.asarray(tensor.cluster_centers_) == pytest.approx(host.cluster_centers_, abs=1e-8)
