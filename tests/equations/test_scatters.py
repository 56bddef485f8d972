"""The compact geometries against the full matrix, and floors against all feasible nudges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.equations.scatters import STRUCTURES, Diagonal, Full, SingularScatterError, Spherical, reshape_like
from tests.mixtures import quick, seeds

pytestmark = pytest.mark.usefixtures("one_thread")


def dense(scatter, dimension):
    return np.diag(np.broadcast_to(scatter, dimension))


@quick
@given(seeds, st.sampled_from([Diagonal(), Spherical()]), st.integers(1, 4))
def test_compact_geometry_equals_its_dense_matrix(seed, geometry, dimension):
    rng = np.random.RandomState(seed)
    scatter = rng.random_sample(dimension if isinstance(geometry, Diagonal) else ()) + 0.1
    residuals, coefficients = rng.standard_normal((9, dimension)), rng.random_sample(9)
    full, matrix = Full(), dense(scatter, dimension)
    np.testing.assert_allclose(geometry.squared_lengths(residuals, scatter), full.squared_lengths(residuals, matrix))
    np.testing.assert_allclose(geometry.log_determinant(scatter, dimension), full.log_determinant(matrix, dimension))
    np.testing.assert_allclose(geometry.color_noise(residuals, scatter), full.color_noise(residuals, matrix))
    moment = np.diag(full.moment(residuals, coefficients))
    wanted = moment if isinstance(geometry, Diagonal) else moment.mean()
    np.testing.assert_allclose(geometry.moment(residuals, coefficients), wanted)


@quick
@given(seeds, st.integers(1, 4))
def test_full_lengths_and_colours_match_the_inverse(seed, dimension):
    rng = np.random.RandomState(seed)
    root = rng.standard_normal((dimension, dimension)) + 2 * np.eye(dimension)
    scatter, residuals = root @ root.T, rng.standard_normal((9, dimension))
    lengths = np.einsum("ij,jk,ik->i", residuals, np.linalg.inv(scatter), residuals)
    np.testing.assert_allclose(Full().squared_lengths(residuals, scatter), lengths, rtol=1e-7)
    assert Full().log_determinant(scatter, dimension) == pytest.approx(np.linalg.slogdet(scatter)[1])
    coefficients = rng.random_sample(9)
    moment = sum(a * np.outer(r, r) for a, r in zip(coefficients, residuals, strict=True))
    np.testing.assert_allclose(Full().moment(residuals, coefficients), moment)
    factor = Full().color_noise(np.eye(dimension), scatter)
    np.testing.assert_allclose(factor.T @ factor, scatter, rtol=1e-9, atol=1e-9)


@quick
@given(seeds, st.integers(1, 4), st.floats(0.01, 1.0))
def test_no_feasible_nudge_beats_the_floored_scatter(seed, dimension, least):
    rng = np.random.RandomState(seed)
    root = rng.standard_normal((dimension, dimension))
    target = root @ root.T + 1e-6 * np.eye(dimension)
    best = Full().floor_variances(target, least)

    def cost(scatter):
        return np.linalg.slogdet(scatter)[1] + np.trace(np.linalg.solve(scatter, target))

    assert np.linalg.eigvalsh(best)[0] >= least * (1 - 1e-9)
    for size in (1e-3, 0.1, 0.5):
        other = rng.standard_normal((dimension, dimension))
        feasible = (1 - size) * best + size * (other @ other.T + least * np.eye(dimension))
        assert cost(best) <= cost(feasible) + 1e-9


def test_floor_leaves_a_wide_scatter_alone():
    scatter = np.array([[2.0, 0.3], [0.3, 1.0]])
    assert Full().floor_variances(scatter, 0.5) is scatter
    exact = np.diag([2.0, 1.0])
    assert Full().floor_variances(exact, 1.0) is exact


def test_a_floor_lifts_small_variances_only():
    np.testing.assert_allclose(Full().floor_variances(np.diag([4.0, 1.0, 3.0]), 2.0), np.diag([4.0, 2.0, 3.0]))
    np.testing.assert_array_equal(Diagonal().floor_variances(np.array([4.0, 1.0]), 2.0), [4.0, 2.0])
    assert Spherical().floor_variances(np.array(1.0), 2.0) == 2.0
    assert Spherical().floor_variances(np.array(3.0), 2.0) == 3.0


@pytest.mark.parametrize(
    ("geometry", "scatter"),
    [
        (Full(), np.zeros((2, 2))),
        (Full(), np.diag([1.0, -1.0])),
        (Diagonal(), np.array([1.0, 0.0])),
        (Diagonal(), np.array([-0.5, 1.0])),
        (Spherical(), np.array(0.0)),
        (Spherical(), np.array(np.nan)),
    ],
)
def test_a_singular_scatter_is_an_error(geometry, scatter):
    with pytest.raises(SingularScatterError):
        geometry.squared_lengths(np.ones((3, 2)), scatter)
    with pytest.raises(SingularScatterError):
        geometry.log_determinant(scatter, 2)


@pytest.mark.parametrize("shape", [(), (4,), (4, 4)])
def test_moments_are_divided_by_their_masses_or_together(shape):
    rng = np.random.RandomState(0)
    moments, totals = rng.random_sample((3, *shape)), np.array([1.0, 2.0, 4.0])
    for kind, structure in STRUCTURES.items():
        own = [moments[j] / totals[j] for j in range(3)]
        together = [(moments[0] + moments[1] + moments[2]) / 7] * 3
        np.testing.assert_allclose(structure.divide_moments(moments, totals), together if kind == "tied" else own)
    assert reshape_like(totals, moments).shape == (3,) + (1,) * len(shape)
    np.testing.assert_array_equal(reshape_like(totals, moments).ravel(), totals)


def test_components_of_one_size():
    assert {kind for kind, structure in STRUCTURES.items() if structure.is_pooled} == {"tied", "identity"}
    assert {kind for kind, structure in STRUCTURES.items() if structure.tied} == {"tied"}
    assert {kind for kind, structure in STRUCTURES.items() if structure.identity} == {"identity"}


def test_parameters_are_counted_as_the_matrices_have_them():
    counts = {kind: structure.n_parameters(3, 4) for kind, structure in STRUCTURES.items()}
    assert counts == {"full": 30, "tied": 10, "diag": 12, "spherical": 3, "identity": 1}
