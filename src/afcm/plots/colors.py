"""Colors, markers and hatchings of clusters, told apart by color-blind readers and on paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Okabe and Ito, without black: https://jfly.uni-koeln.de/color/
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
# Nine of each, which has no divisor in common with seven: color and shape together repeat after 63 clusters.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
HATCHES = ("", "//", "..", "\\\\", "xx", "--", "++", "oo", "||")


def cluster_colors(n_clusters: int) -> list[str]:
    """One color a cluster; from the eighth on they repeat, so number the clusters too."""
    return [PALETTE[j % len(PALETTE)] for j in range(n_clusters)]


def marker(cluster: int) -> str:
    return MARKERS[cluster % len(MARKERS)]


def hatch(cluster: int) -> str:
    return HATCHES[cluster % len(HATCHES)]


def to_rgb(colors: list[str]) -> NDArray[np.float64]:
    """``#rrggbb`` as numbers from 0 to 1, one row each."""
    return np.array([[int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)] for code in colors])


def mix_colors(memberships: Any, colors: list[str]) -> NDArray[np.float64]:
    """Mix the clusters' colors as the memberships say, n×3 (as squares, so that mixtures stay bright)."""
    return np.sqrt(np.clip(np.asarray(memberships, dtype=np.float64) @ to_rgb(colors) ** 2, 0, 1))


def opacity(memberships: Any, least: float = 0.15) -> NDArray[np.float64]:
    """Opacity of each sample: ``least`` where all memberships are 1/c, 1 where one of them is 1."""
    memberships = np.asarray(memberships, dtype=np.float64)
    floor = 1 / memberships.shape[1]
    if floor == 1:
        return np.ones(memberships.shape[0])
    return least + (1 - least) * np.clip((memberships.max(axis=1) - floor) / (1 - floor), 0, 1)
