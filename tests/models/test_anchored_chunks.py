"""Algorithm 1 on an anchor graph in chunks: replays take the steps of the sweeps, and parts of the samples add up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from afcm.graph.similarity import PlacedSamples
from afcm.linalg.operator import Eigenpairs
from afcm.models import anchor_equations
from afcm.models.anchor_equations import Step
from afcm.models.anchored import AnchoredProblem
from afcm.models.anchored_chunks import ChunkedProblem, ChunkedState, Replay, ReplayExtension
from tests.models.test_anchor_equations import LAMBDA, C, M, N, both, case, orthonormal

FIRST = np.random.default_rng(3).dirichlet(np.ones(C), size=M)


class WeightsAsPoints:
    """A similarity whose samples are their weights."""

    @staticmethod
    def weigh(points):
        return sp.csr_array(points)


def problems(known):
    """The problem in chunks, of which there is one in memory here, and the same problem with the weights at hand."""
    chunked = ChunkedProblem(None, known.masses, known.anchors, LAMBDA, known.q, WeightsAsPoints)
    return chunked, AnchoredProblem(known.weights, known.masses, known.anchors, LAMBDA)


def steps_of(seed=0, count=3):
    """Random steps in two dimensions."""
    rng = np.random.default_rng(seed)
    shapes = ((M, 2), (C, 2), (C, 2))
    return [Step(*map(rng.standard_normal, shapes), float(rng.uniform(0.5, 2))) for _ in range(count)]


def replay_of(steps):
    a, b, centers, precisions = (np.array(values) for values in zip(*steps, strict=True))
    return Replay(FIRST, a, b, centers, precisions)


def row_by_row(steps, weights):
    """u = q F, then z = q a + u b and u = softmax(−γ ‖z − v‖²) for each step."""
    found = []
    for q in weights:
        u, z = q @ FIRST, None
        for a, b, centers, precision in steps:
            z = q @ a + u @ b
            scores = np.array([np.exp(-precision * sum((z - center) ** 2)) for center in centers])
            u = scores / scores.sum()
        found.append((u, z))
    return tuple(np.array(values) for values in zip(*found, strict=True))


def test_a_replay_takes_the_steps_row_by_row():
    known, steps = case(), steps_of()
    replay = replay_of(steps)
    u, z = row_by_row(steps, known.q)
    memberships, embedding = replay.place(known.weights)
    np.testing.assert_allclose(memberships, u, rtol=1e-10)
    np.testing.assert_allclose(embedding, z, rtol=1e-10)
    np.testing.assert_array_equal(replay.memberships(known.weights), memberships)
    extension = ReplayExtension(replay)
    placed = extension.embed(PlacedSamples(known.weights, np.full(N, -1)))
    np.testing.assert_array_equal(placed, embedding)
    np.testing.assert_allclose(extension.memberships_of(placed), u, rtol=1e-10)
    assert extension.n_clusters == C


def test_a_replay_without_steps_gives_the_clusters_of_the_anchors():
    replay, known = Replay.begin(FIRST), case()
    memberships, embedding = replay.place(known.weights)
    np.testing.assert_allclose(memberships, known.q @ FIRST, rtol=1e-13)
    assert embedding is None
    assert replay.shape == (M, C)
    held = (replay.on_anchors, replay.on_clusters, replay.centers, replay.precisions)
    assert [values.shape for values in held] == [(0, M, C), (0, C, C), (0, C, C), (0,)]


def test_a_replay_grows_step_by_step():
    known, steps = case(), steps_of()
    longer = replay_of(steps[:1]).then(steps[1]).then(steps[2])
    for found, expected in zip(longer.steps(), steps, strict=True):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        assert type(found.precision) is float
    np.testing.assert_array_equal(longer.memberships(known.weights), replay_of(steps).memberships(known.weights))


def test_steps_of_which_some_parts_are_missing_are_refused():
    replay = replay_of(steps_of())
    with pytest.raises(ValueError, match="zip"):
        list(replace(replay, precisions=replay.precisions[:2]).steps())


@both
def test_sweeps_in_chunks_are_those_in_memory(masses):
    known = case(masses)
    chunked, whole = problems(known)
    state, expected = chunked.from_memberships(Replay.begin(FIRST)), whole.from_memberships(known.q @ FIRST)
    for number in range(4):
        assert_same(state, expected, known)
        assert len(state.memberships.precisions) == number
        state, expected = chunked.sweep(state), whole.sweep(expected)
        assert isinstance(state, ChunkedState)
        assert state.embedding is None


def assert_same(state, expected, known):
    np.testing.assert_allclose(state.memberships.memberships(known.weights), expected.memberships, rtol=1e-9)
    np.testing.assert_allclose(state.sums.links, expected.sums.links, rtol=1e-10)
    np.testing.assert_allclose(state.sums.overlaps, expected.sums.overlaps, rtol=1e-10)
    for name in ("precision", "objective", "change", "eigen_residual"):
        assert getattr(state, name) == pytest.approx(getattr(expected, name), rel=1e-9, abs=1e-9)
    assert state.eigen_converged == expected.eigen_converged
    for name in ("centers", "on_anchors", "on_clusters", "vectors"):
        one, other = getattr(state, name), getattr(expected, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, atol=1e-9)


def test_an_eigen_step_in_chunks_begins_at_the_vectors_of_the_last(monkeypatch):
    chunked, _ = problems(case())
    solve, starts = anchor_equations.embedding_step, []

    def watched(*how):
        starts.append(how[4])
        return solve(*how)

    monkeypatch.setattr(anchor_equations, "embedding_step", watched)
    first = chunked.sweep(chunked.from_memberships(Replay.begin(FIRST)))
    chunked.sweep(first)
    assert starts[0] is None
    assert starts[1] is first.vectors


@both
def test_given_coefficients_take_the_place_of_the_eigen_step(masses):
    known = case(masses)
    chunked, whole = problems(known)
    coefficients, _ = orthonormal(known)
    coefficients = coefficients._replace(residual=0.25, converged=False)
    found = chunked.sweep(chunked.from_memberships(Replay.begin(FIRST)), coefficients)
    assert_same(found, whole.sweep(whole.from_memberships(known.q @ FIRST), coefficients), known)
    assert (found.eigen_residual, found.eigen_converged) == (0.25, False)


@both
def test_a_spectral_start_in_chunks_is_that_in_memory(masses):
    known = case(masses)
    chunked, whole = problems(known)
    values, vectors = np.linalg.eigh(known.anchors.affinity)
    eigen = Eigenpairs(vectors[:, : -C - 1 : -1], values[: -C - 1 : -1], None, 0.125, 0.0, 0, True)
    assert_same(chunked.from_spectral(eigen, FIRST), whole.from_spectral(eigen, FIRST), known)


@both
def test_parts_of_the_samples_add_up(masses):
    known = case(masses)
    chunked, whole = problems(known)
    replay, step = replay_of(steps_of(count=2)), steps_of(seed=1, count=1)[0]
    pieces = [slice(0, 5), slice(5, 9), slice(9, N)]
    parts = [chunked.part(known.q[rows], None if known.masses is None else known.masses[rows]) for rows in pieces]
    assert all(part.anchors is None for part in parts)
    assert all(part.graph_weight == LAMBDA for part in parts)
    u = replay.memberships(known.weights)
    sums = anchor_equations.add_sums([part.sum_memberships(replay) for part in parts])
    expected = whole.sum_memberships(u)
    np.testing.assert_allclose(sums.links, expected.links, rtol=1e-12)
    np.testing.assert_allclose(sums.overlaps, expected.overlaps, rtol=1e-12)
    after = anchor_equations.add_sums([part.sums_after(replay, step) for part in parts])
    expected = anchor_equations.look(known.weights, u, known.masses, step)[2]
    for found, other in zip(after, expected, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-11)
    links = sum(part.hard_links(replay) for part in parts)
    np.testing.assert_allclose(links, whole.hard_links(u), rtol=1e-12)
    assert chunked.normalized_cut(replay) == pytest.approx(whole.normalized_cut(u), rel=1e-12)


def test_a_problem_in_chunks_is_shown_without_its_arrays():
    assert repr(problems(case())[0]) == "ChunkedProblem(graph_weight=7.0)"
