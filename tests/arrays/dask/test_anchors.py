"""AFCM on an anchor graph of chunks: the fit in memory, one task a chunk and sweep, and rows that are placed again."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from afcm import AFCM, align
from afcm.checkpoints import Checkpoint
from afcm.exceptions import HardMembershipsWarning
from afcm.graph.anchors import learning
from afcm.graph.anchors.affinity import CoarseGraph
from afcm.graph.anchors.weights import AnchorSimilarity
from afcm.models import graph_problem
from afcm.models.anchored import AnchoredProblem
from afcm.models.anchored_chunks import ChunkedProblem, Replay

dask = pytest.importorskip("dask", reason="the extra afcm[dask] is not installed")
da = pytest.importorskip("dask.array", reason="the extra afcm[dask] is not installed")

# λ so large that memberships are soft and sweeps many.
SOFT = AFCM(3, graph="anchors", n_anchors=60, graph_weight=6e5, memberships="paper", random_state=0)
UNEVEN = ((1, 400, 0, 199), 2)


@pytest.fixture(autouse=True)
def at_once():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def rings():
    rng = np.random.default_rng(0)
    angles, radii = rng.uniform(0, 2 * np.pi, 600), np.repeat([1.0, 3.0, 5.0], 200)
    return np.c_[radii * np.cos(angles), radii * np.sin(angles)] + 0.3 * rng.standard_normal((600, 2))


def copies(model):
    from sklearn.base import clone

    return clone(model), clone(model)


def test_a_fit_of_chunks_is_the_fit_in_memory(rings):
    here, there = copies(SOFT)
    here.fit(rings)
    there.fit(da.from_array(rings, chunks=UNEVEN))
    assert here.n_iter_ == there.n_iter_ > 2
    assert here.membership_state_ == there.membership_state_
    assert there.memberships_.chunks == there.embedding_.chunks == (UNEVEN[0], (3,))
    assert np.abs(there.memberships_.compute() - here.memberships_).max() <= 1e-10
    np.testing.assert_array_equal(there.labels_.compute(), here.labels_)
    np.testing.assert_array_equal(there.anchors_, here.anchors_)
    for name in ("objective_", "gamma_", "normalized_cut_", "crispness_"):
        assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-8)


def test_anchors_are_learned_from_the_rows_that_are_drawn_in_memory(rings, monkeypatch):
    monkeypatch.setattr(learning, "LEARNED_FROM", 6)  # 360 of the 600 rows
    here, there = copies(SOFT)
    here.fit(rings)
    there.fit(da.from_array(rings, chunks=UNEVEN))
    np.testing.assert_array_equal(there.anchors_, here.anchors_)
    assert np.abs(there.memberships_.compute() - here.memberships_).max() <= 1e-10


@pytest.mark.parametrize("weighted", [False, True])
def test_sweeps_of_chunks_are_the_sweeps_in_memory(rings, weighted):
    rng = np.random.default_rng(1)
    masses = rng.integers(0, 4, size=600).astype(float) if weighted else None
    similarity = AnchorSimilarity.from_anchors(rings[::10], 4)
    weights, first = similarity.weigh(rings), rng.dirichlet(np.ones(3), size=60)
    here = AnchoredProblem.of(weights, masses, 1000.0)
    chunks = da.from_array(rings, chunks=UNEVEN)
    masses = None if masses is None else da.from_array(masses, chunks=UNEVEN[:1])
    shared = CoarseGraph.from_samples(similarity, chunks, masses)
    np.testing.assert_allclose(shared.weights.toarray(), here.anchors.weights.toarray(), atol=1e-12)
    there = ChunkedProblem(None, masses, shared, 1000.0, chunks, similarity)
    one, other = here.from_memberships(weights @ first), there.from_memberships(Replay.begin(first))
    for _ in range(4):
        one, other = here.sweep(one), there.sweep(other)
        assert other.objective == pytest.approx(one.objective, rel=1e-10)
        assert other.change == pytest.approx(one.change, abs=1e-8)
        assert np.abs(other.memberships.memberships(weights) - one.memberships).max() <= 1e-10


def test_weights_count(rings):
    weights = np.repeat([2.0, 1.0, 0.0], 200)
    model = copies(SOFT)[0].set_params(n_clusters=2, graph_weight="auto")
    with pytest.warns(HardMembershipsWarning):
        model.fit(da.from_array(rings, chunks=(150, 2)), sample_weight=weights)
    assert model.graph_weight_ == pytest.approx(3 * weights.sum())
    plain = copies(model)[0]
    with pytest.warns(HardMembershipsWarning):
        plain.fit(da.from_array(rings, chunks=(150, 2)))
    assert plain.objective_ != model.objective_


def test_any_chunking_gives_the_same_and_single_rows_do(rings):
    fits = [SOFT.fit(da.from_array(rings[::6], chunks=(size, 2))).memberships_.compute() for size in (1, 37, 100)]
    assert max(np.abs(fit - fits[0]).max() for fit in fits) <= 1e-10


def test_clusters_are_counted_as_in_memory(rings):
    here, there = copies(AFCM("auto", graph="anchors", n_anchors=200, random_state=0))
    chunks = da.from_array(rings, chunks=(150, 2))
    assert there.fit(chunks).n_clusters_ == here.fit(rings).n_clusters_


def test_samples_are_placed_by_the_steps_of_the_fit(rings):
    model = SOFT.fit(da.from_array(rings, chunks=UNEVEN))
    np.testing.assert_array_equal(model.predict(rings), model.labels_.compute())
    np.testing.assert_array_equal(model.predict_proba(rings), model.memberships_.compute())
    new = da.from_array(rings[:50] + 0.01, chunks=(20, 2))
    assert isinstance(model.predict(new), da.Array)
    np.testing.assert_allclose(model.transform(new).compute(), model.transform(rings[:50] + 0.01))
    assert (model.predict(new).compute() == model.labels_.compute()[:50]).mean() > 0.9


def test_a_fit_in_memory_places_chunks_too(rings):
    model = SOFT.fit(rings)
    np.testing.assert_array_equal(model.predict(da.from_array(rings, chunks=(90, 2))).compute(), model.labels_)


def test_a_checkpoint_holds_the_steps_and_goes_on(rings, tmp_path):
    chunks, seen = da.from_array(rings, chunks=(200, 2)), []
    whole = SOFT.fit(chunks).memberships_.compute()

    class Stop(Exception):
        pass

    def note(iteration):
        seen.append(iteration.index)
        if len(seen) == 2:
            raise Stop

    path = tmp_path / "fit.ckpt"
    model = copies(SOFT)[0].set_params(callback=Checkpoint(path, every=1, callback=note))
    with pytest.raises(Stop):
        model.fit(chunks)
    model.fit(chunks)
    assert seen == list(range(1, model.n_iter_ + 1)) or seen[2] == 2  # what was not written down yet is done again
    assert np.abs(model.memberships_.compute() - whole).max() <= 1e-10


def test_no_chunk_gives_more_than_a_small_matrix(rings):
    from dask.callbacks import Callback

    sizes = {}
    with Callback(posttask=lambda key, value, *_: sizes.__setitem__(str(key), len(pickle.dumps(value)))):
        model = SOFT.fit(da.from_array(rings, chunks=(100, 2)))
    own = {key: size for key, size in sizes.items() if "afcm-" in key and "-order" not in key}
    assert max(own.values()) <= 16 * (60 + 3) ** 2
    sweeps = [key for key in own if "afcm-sums_after" in key and "-sum'" not in key]
    assert len(sweeps) == 6 * (model.n_iter_ + 1)  # one task a chunk: the start, and each sweep


def test_a_replay_grows_by_its_steps():
    from afcm.models.anchor_equations import Step

    rng = np.random.default_rng(0)
    first = rng.dirichlet(np.ones(2), size=5)
    step = Step(rng.random((5, 2)), rng.random((2, 2)), rng.random((2, 2)), 3.0)
    replay = Replay.begin(first)
    np.testing.assert_array_equal(replay.memberships(np.eye(5)), first)
    twice = replay.then(step).then(step)
    assert [one.precision for one in twice.steps()] == [3.0, 3.0]
    np.testing.assert_allclose(twice.memberships(np.eye(5)).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"graph": "neighbors"}, "use graph='anchors'"),
        ({"init": "random"}, "init='spectral'"),
        ({"device": "cuda"}, "device='cuda'"),
    ],
)
def test_what_chunks_cannot_do_is_said(rings, change, words):
    chunks = da.from_array(rings, chunks=(200, 2))
    with pytest.raises(ValueError, match=words):
        copies(SOFT)[0].set_params(**change).fit(chunks)


def test_chunks_leave_no_graph_to_walk_on(rings):
    model = copies(SOFT)[0].set_params(memberships="auto").fit(da.from_array(rings, chunks=(200, 2)))
    assert model.membership_method_ == "paper"
    assert copies(SOFT)[0].set_params(memberships="auto").fit(rings).membership_method_ != "paper"


def test_a_prepared_graph_of_chunks_serves_many_fits(rings):
    chunks = da.from_array(rings, chunks=(200, 2))
    prepared = SOFT.prepare(chunks)
    one, other = copies(SOFT)
    one.fit_prepared(prepared), other.fit(chunks)
    np.testing.assert_array_equal(one.memberships_.compute(), other.memberships_.compute())
    assert one.n_features_in_ == other.n_features_in_ == 2


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(1)
    return rng.standard_normal((900, 2)) + np.repeat([[0, 0], [3, 0], [0, 4]], 300, axis=0)


def test_chunks_have_the_posteriors_of_the_mixture(blobs):
    model = AFCM(3, graph="anchors", n_anchors=80, random_state=0)
    here, there = copies(model)
    here.fit(blobs)
    there.fit(da.from_array(blobs, chunks=((1, 500, 0, 399), 2)))
    assert here.membership_method_ == there.membership_method_ == "mixture"
    found = there.memberships_.compute()
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_array_equal(there.labels_.compute(), found.argmax(axis=1))
    here = align(here, there, blobs).model  # clusters in memory are numbered by size
    assert np.abs(found - here.memberships_).mean() < 0.01  # the one in memory also looks at a walk
    np.testing.assert_allclose(there.predict_proba(blobs), found, atol=1e-9)
    np.testing.assert_array_equal(there.paper_memberships_.compute().shape, (900, 3))


def test_chunks_keep_the_papers_memberships_where_the_mixture_disagrees(blobs, monkeypatch):
    monkeypatch.setattr(graph_problem, "AGREED", 1.01)
    model = AFCM(3, graph="anchors", n_anchors=80, random_state=0)
    with pytest.warns(HardMembershipsWarning):
        model.fit(da.from_array(blobs, chunks=(300, 2)))
    assert model.membership_method_ == "paper"
