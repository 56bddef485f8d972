"""Products of tall blocks in pieces are those at once, whatever the number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from afcm._util.threads import without_threads
from afcm.linalg import tall


@pytest.fixture(params=[True, False], ids=["pieces", "at once"])
def _cut(request, monkeypatch):
    monkeypatch.setattr(tall, "ROWS", 7)
    monkeypatch.setattr(tall, "LARGE", 0 if request.param else 10**9)


def blocks(dtype=float):
    rng = np.random.default_rng(0)
    return rng.standard_normal((50, 4)).astype(dtype), rng.standard_normal((50, 3)).astype(dtype)


@pytest.mark.usefixtures("_cut")
def test_products_by_their_formulas():
    left, right = blocks()
    np.testing.assert_allclose(tall.inner(left, right), left.T @ right, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(tall.combine(left, left[:4]), left @ left[:4], rtol=1e-13, atol=1e-13)
    target = right.copy()
    tall.add(target, left, left[:4, :3])
    np.testing.assert_allclose(target, right + left @ left[:4, :3], rtol=1e-13, atol=1e-13)


@pytest.mark.usefixtures("_cut")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaled_columns_are_subtracted_in_place_and_in_the_precision_of_the_block(dtype):
    (left, right), factors = blocks(dtype), np.array([2.0, -0.5, 0.0])[::-1]
    target = left[:, :3].copy()
    tall.subtract_scaled(target, right, factors)
    np.testing.assert_array_equal(target, left[:, :3] - right * factors.astype(dtype))
    assert target.dtype == dtype


def test_scaled_columns_of_tensors_are_subtracted():
    torch = pytest.importorskip("torch")
    left, right = blocks(np.float32)
    target = torch.from_numpy(left[:, :3].copy())
    tall.subtract_scaled(target, torch.from_numpy(right), np.array([2.0, -0.5, 0.0]))
    np.testing.assert_array_equal(target.numpy(), left[:, :3] - right * np.float32([2.0, -0.5, 0.0]))


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    monkeypatch.setattr(tall, "ROWS", 7)
    left, right = blocks()
    threaded = tall.inner_products(left, right), tall.combine_columns(left, left[:4]), tall.column_lengths(left)
    with without_threads():
        alone = tall.inner_products(left, right), tall.combine_columns(left, left[:4]), tall.column_lengths(left)
    for one, other in zip(threaded, alone, strict=True):
        np.testing.assert_array_equal(one, other)


def test_single_precision_stays_and_its_sums_are_double():
    left, right = blocks(np.float32)
    assert tall.combine_columns(left, np.eye(4)).dtype == np.float32
    exact = left.T.astype(float) @ right.astype(float)
    np.testing.assert_allclose(tall.inner_products(left, right), exact, rtol=1e-14)
    np.testing.assert_allclose(tall.inner_products(left, right, np.float32), exact, atol=1e-5)
    np.testing.assert_allclose(tall.column_lengths(left), np.linalg.norm(left, axis=0), rtol=1e-6)


@pytest.mark.parametrize("spread", [1.0, 1e-4])
def test_orthonormal_columns_with_the_same_span(spread):
    block = blocks()[0] * [1e3, 1.0, 1e-3, 1.0]
    block[:, 3] = block[:, 1] + spread * block[:, 3]
    found = tall.orthonormalize(block)
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(found @ (found.T @ block), block, atol=1e-9 * abs(block).max())


def test_a_column_that_depends_on_others_is_left_out():
    block = blocks()[0]
    block[:, 2] = block[:, 0] - block[:, 1]
    found = tall.orthonormalize(block)
    assert found.shape == (50, 3)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-12)
