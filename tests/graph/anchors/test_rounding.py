"""Anchors that single precision cannot tell apart are searched again in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from afcm.graph.anchors.weights import AnchorSimilarity


@pytest.mark.parametrize("fast", [False, True])
def test_anchors_too_close_for_float32_are_searched_again(fast):
    if fast:
        pytest.importorskip("numba", reason="Numba is not installed")
    rng = np.random.default_rng(0)
    near = 1e-3 * rng.uniform(size=(60, 2))
    anchors = np.vstack([near, [[1e5, 1e5]]])  # one far away makes the unit of the products large
    points = near[:25] + 1e-5
    _, indices = AnchorSimilarity.from_anchors(anchors, 3).weigh_block(points, fast)
    exact = np.argsort(((points[:, None] - anchors) ** 2).sum(axis=2), axis=1, kind="stable")[:, :3]
    np.testing.assert_array_equal(indices, exact)
