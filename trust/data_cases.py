"""Numbers that are hard on floating point, and shapes at the edge."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from trust.cases import Case, blobs, truth

SCALE = "overflow|vanish|underflow|rescale|scale|too large|too small"
ENOUGH = "different|distinct|n_clusters|n_samples|clusters|samples"
POWERS = (-300, -200, -160, -150, -100, -30, -8, 8, 30, 100, 150, 153, 200, 300)


def cases() -> Iterator[Case]:
    yield Case("three clear clusters", "control", blobs, "nothing", expected=truth())
    yield from scales()
    yield from offsets()
    yield from repetitions()
    yield from shapes()
    yield from counts()
    yield from outliers()


def scales() -> Iterator[Case]:
    """Clusters in another unit; squares overflow at about 1e154 and vanish at about 1e-154."""
    for power in POWERS:
        make = partial(scale_blobs, 10.0**power)
        yield Case(f"X · 1e{power}", "scale", make, SCALE, expected=truth())
    for power in (-40, -30, -20, 18, 20, 36):
        make = partial(scale_blobs, 10.0**power, np.float32)
        yield Case(f"float32 X · 1e{power}", "scale", make, SCALE, expected=truth())
    yield Case("one column · 1e-200", "scale", partial(add_noise, 1e-200), SCALE, expected=truth())
    yield Case("one constant column of 1e200", "scale", partial(add_constant, 1e200), SCALE, expected=truth())
    yield Case("smallest subnormal numbers", "scale", partial(scale_blobs, 5e-324), SCALE)


def scale_blobs(factor: float, dtype: Any = np.float64) -> Any:
    return (blobs() * factor).astype(dtype)


def add_noise(factor: float) -> Any:
    """Blobs beside a fourth column of noise of another size."""
    noise = np.random.default_rng(1).standard_normal((90, 1))
    return np.hstack([blobs(), factor * noise])


def add_constant(value: float) -> Any:
    """Blobs beside a constant column."""
    return np.hstack([blobs(), np.full((90, 1), value)])


def offsets() -> Iterator[Case]:
    """Clusters far from the origin."""
    for power in (4, 8, 12, 14):
        make = partial(shift_blobs, 10.0**power)
        yield Case(f"X + 1e{power}", "offset", make, SCALE, expected=truth())
    yield Case(
        "X + 1e300: all samples round to one", "offset", partial(shift_blobs, 1e300), ENOUGH + "|" + SCALE, refuse=True
    )
    yield Case("float32 X + 1e6", "offset", lambda: shift_blobs(1e6).astype(np.float32), SCALE, expected=truth())
    yield Case("one column + 1e12", "offset", lambda: blobs() + np.array([1e12, 0, 0]), SCALE, expected=truth())


def shift_blobs(offset: float) -> Any:
    return blobs() + offset


def repetitions() -> Iterator[Case]:
    """Samples that are equal, or nearly."""
    kind = "duplicates"
    rng = np.random.default_rng(2)
    copies = np.repeat(blobs(), 5, axis=0)
    labels = np.repeat(truth(), 5)
    for size in (1e-8, 1e-12, 1e-15):
        near = copies + size * rng.standard_normal(copies.shape)
        yield Case(f"each sample 5 times, {size:g} apart", kind, near.copy, ENOUGH, expected=labels)
    yield Case("each sample 5 times", kind, copies.copy, ENOUGH, expected=labels)
    points = np.repeat(10.0 * np.eye(3), 20, axis=0)
    yield Case("3 different samples, 20 times each, c = 3", kind, points.copy, ENOUGH, expected=np.repeat(range(3), 20))
    yield Case("2 different samples, c = 3", kind, points[:40].copy, ENOUGH, refuse=True)
    yield Case("all samples equal, c = 3", kind, partial(np.ones, (60, 3)), ENOUGH, refuse=True)
    yield Case("all samples equal, c = 1", kind, partial(np.ones, (60, 3)), ENOUGH, n_clusters=1)
    yield Case("all samples zero, c = 3", kind, partial(np.zeros, (60, 3)), ENOUGH, refuse=True)
    lone = np.vstack([np.zeros((59, 3)), np.ones((1, 3))])
    yield Case("59 equal samples and one other, c = 2", kind, lone.copy, ENOUGH, 2, expected=np.repeat([0, 1], [59, 1]))


def shapes() -> Iterator[Case]:
    """Too few dimensions, or too many."""
    kind, line = "shape", 20.0 * truth()[:, None] + np.random.default_rng(4).standard_normal((90, 1))
    yield Case("one column", kind, line.copy, ENOUGH, expected=truth())
    yield Case("rank one: a line in 5 dimensions", kind, lambda: line * np.arange(1, 6), ENOUGH, expected=truth())
    yield Case("a constant column", kind, partial(add_constant, 7.0), ENOUGH, expected=truth())
    yield Case("50 rows, 100,000 columns", kind, make_wide, ENOUGH + "|features|memory|covariance", expected=truth(50))
    yield Case("more columns than rows", kind, partial(blobs, 30, 100, 0.1), ENOUGH + "|covariance", expected=truth(30))


def make_wide() -> Any:
    """Three blobs in 100,000 columns."""
    rng = np.random.default_rng(3)
    centers = rng.standard_normal((3, 100_000))
    return centers[truth(50)] + 0.1 * rng.standard_normal((50, 100_000))


def counts() -> Iterator[Case]:
    """Few samples, many clusters."""
    kind = "n and c"
    yield Case("n = c = 3", kind, partial(np.eye, 3), ENOUGH, expected=np.arange(3))
    yield Case("n = c = 30", kind, partial(blobs, 30), ENOUGH, n_clusters=30, expected=np.arange(30))
    yield Case("n = c + 1 = 31", kind, partial(blobs, 31), ENOUGH, n_clusters=30)
    yield Case("n = 2, c = 2", kind, partial(np.eye, 2), ENOUGH, n_clusters=2, expected=np.arange(2))
    yield Case("n = 2, c = 1", kind, partial(np.eye, 2), ENOUGH, n_clusters=1, expected=np.zeros(2))
    yield Case("n = 1, c = 1", kind, partial(np.ones, (1, 3)), ENOUGH + "|minimum", n_clusters=1)
    yield Case("n = 1, c = 2", kind, partial(np.ones, (1, 3)), ENOUGH + "|minimum", n_clusters=2, refuse=True)
    yield Case("c = 1", kind, blobs, ENOUGH, n_clusters=1, expected=np.zeros(90))
    few = {"max_iter": 10}  # enough to see whether it begins and ends well
    yield Case("c = 200", kind, partial(blobs, 400), ENOUGH, n_clusters=200, options=few)
    yield Case("c > n", kind, blobs, ENOUGH, n_clusters=91, refuse=True)


def outliers() -> Iterator[Case]:
    """One sample far from all others."""
    for power in (3, 8, 50, 150, 200):
        make = partial(add_outlier, 10.0**power)
        yield Case(f"one sample at 1e{power}", "outlier", make, SCALE, n_clusters=4)


def add_outlier(size: float) -> Any:
    """Blobs and one sample far from them."""
    return np.vstack([blobs(), np.full((1, 3), size)])
