"""The paper's two toy sets, spirals and rings: clusters that no center can describe.

The paper prints neither a generator nor a noise level. Here neighboring arms or rings are 1 apart, so
`noise` reads as a fraction of the gap between clusters. With the default sizes and noise, graphs of 8 to 12
neighbors have one connected component per cluster (seeds 0 to 19 were tried).
"""

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from afcm._typing import Floats, Integers

SPIRAL_TURNS = 1.5
SPIRAL_START = 0.5  # the two inner ends are then 1 apart, like neighboring arms
RING_RADII = (1.0, 2.0, 3.0)


def make_spirals(
    n_samples: int | Sequence[int] = 1000,
    *,
    noise: float = 0.06,
    shuffle: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Floats, Integers]:
    """Make two interleaved spirals in the plane.

    Each arm makes one and a half turns, one half a turn behind the other, with even density along the arm.

    Parameters
    ----------
    n_samples : int or sequence of 2 ints, default=1000
        Samples in total, or in each arm. An odd total gives the last arm one more.
    noise : float, default=0.06
        Standard deviation of the Gaussian noise on each coordinate. Neighboring arms are 1 apart.
    shuffle : bool, default=False
        Mix the samples; otherwise they are grouped by cluster.
    random_state : int, RandomState instance or None, default=None
        Seed of the noise and of the shuffling.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points.
    y : ndarray of shape (n_samples,)
        The arm of each point, 0 or 1.

    Examples
    --------
    >>> from afcm.datasets import make_spirals
    >>> X, y = make_spirals(random_state=0)
    >>> X.shape, [int((y == arm).sum()) for arm in (0, 1)]
    ((1000, 2), [500, 500])
    """
    arms = [_make_spiral(size, arm * np.pi) for arm, size in enumerate(_share_samples(n_samples, 2))]
    return _label_points(arms, noise, shuffle, random_state)


def make_rings(
    n_samples: int | Sequence[int] = 900,
    *,
    noise: float = 0.08,
    shuffle: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Floats, Integers]:
    """Make three concentric rings in the plane, of radius 1, 2 and 3.

    Parameters
    ----------
    n_samples : int or sequence of 3 ints, default=900
        Samples in total, or in each ring from the inner to the outer. The remainder of a total divided
        by three goes to the outer rings.
    noise : float, default=0.08
        Standard deviation of the Gaussian noise on each coordinate. Neighboring rings are 1 apart.
    shuffle : bool, default=False
        Mix the samples; otherwise they are grouped by cluster.
    random_state : int, RandomState instance or None, default=None
        Seed of the noise and of the shuffling.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The points.
    y : ndarray of shape (n_samples,)
        The ring of each point, 0 (inner) to 2 (outer).

    Examples
    --------
    >>> from afcm.datasets import make_rings
    >>> X, y = make_rings(noise=0, random_state=0)
    >>> X.shape, (X[y == 2] ** 2).sum(axis=1).round(6).min()
    ((900, 2), np.float64(9.0))
    """
    sizes = _share_samples(n_samples, len(RING_RADII))
    angles = [np.linspace(0, 2 * np.pi, size, endpoint=False) for size in sizes]
    rings = [_from_polar(np.full_like(angle, radius), angle) for angle, radius in zip(angles, RING_RADII, strict=True)]
    return _label_points(rings, noise, shuffle, random_state)


def _make_spiral(size: int, rotation: float) -> Floats:
    # The radius grows by 1 per half turn; evenly spaced squares of it give even density along the arm.
    end = SPIRAL_START + 2 * SPIRAL_TURNS
    radius = np.sqrt(np.linspace(SPIRAL_START**2, end**2, size))
    return _from_polar(radius, np.pi * radius + rotation)


def _from_polar(radius: Floats, angle: Floats) -> Floats:
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _label_points(
    clusters: list[Floats], noise: float, shuffle: bool, random_state: int | np.random.RandomState | None
) -> tuple[Floats, Integers]:
    if not (np.isfinite(noise) and noise >= 0):
        raise ValueError(f"noise={noise!r} must be a finite number ≥ 0; use 0 for exact curves")
    rng = check_random_state(random_state)
    X = np.concatenate(clusters)
    X += rng.normal(scale=noise, size=X.shape)
    y = np.repeat(np.arange(len(clusters), dtype=np.int64), [len(points) for points in clusters])
    order = rng.permutation(len(X)) if shuffle else slice(None)
    return X[order], y[order]


def _share_samples(n_samples: object, n_clusters: int) -> list[int]:
    sizes: list[Any]
    if isinstance(n_samples, Integral):
        sizes = [(int(n_samples) + cluster) // n_clusters for cluster in range(n_clusters)]
    else:
        sizes = list(n_samples) if isinstance(n_samples, Iterable) else []
    if len(sizes) != n_clusters or not all(isinstance(size, Integral) and int(size) >= 1 for size in sizes):
        raise ValueError(
            f"n_samples={n_samples!r} must be an int ≥ {n_clusters} or a sequence of {n_clusters} ints ≥ 1"
        )
    return [int(size) for size in sizes]
