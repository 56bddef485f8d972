"""Counts the clusters of a graph: it is split wherever its cut has a valley that is deeper than chance makes one.

The samples of a part are ordered by the second eigenvector of its graph, and the cut between the first t and the rest
is a profile over t. Within one cluster the profile is a hill; between two it has a valley. In units of a sample's mean
degree a cut is a count, whose square root has a standard deviation of about 1/2. So ``2(√peak − √valley)`` is a number
of standard deviations. The deepest of about m/l independent valleys that chance alone makes in m samples, l of them to
a piece at least, reaches ``√(2 ln(m/l))``. A deeper valley splits the part, and the same is done with its pieces.

The second eigenvector follows the longest way through a part, which may run across a long valley, or through the neck
of one cluster. So where there is one, a second order of the samples is looked at too: the one in which two clusters are
filled from each other (`afcm.graph.prepared.order_by_walk`). It was chosen for its valley, so that valley must be
deeper than chance by `CHOSEN`, or by `CONFIRMED` where the first order agrees; the first order alone needs `ALONE`.
A valley that is nearly deep enough splits a part if a second witness sees the same two groups
(`afcm.graph.two_gaussians`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from afcm._typing import Floats, Integers, Masks
from afcm.graph import eigenvectors
from afcm.graph.affinity import normalize_graph

# The order along the second eigenvector needs a few digits of it (radians).
ANGLE = 1e-3
# How many times the depth that chance reaches a valley needs: in an order that was chosen for its valley, in one that
# the second eigenvector confirms, and in the order of the second eigenvector if a chosen one does not show it
# (docs/label-free.md).
CHOSEN, CONFIRMED, ALONE = 1.27, 1.15, 1.5
# A valley less than this times as deep as needed may be none, and one deeper than this share of the depth may be one.
WEAK, ALMOST = 1.15, 0.85
# From this share of the depth on a second witness is asked.
DOUBTFUL = 0.7


class Valley(NamedTuple):
    """The deepest valley in the cut profile of a part."""

    depth: float  # 2(√peak − √valley), in standard deviations; infinite between components
    needed: float  # the depth that chance alone reaches
    sizes: tuple[float, float]  # samples on either side
    witnessed: bool = False  # does a second witness see the same two groups?

    @property
    def is_deep(self) -> bool:
        return self.depth > self.needed

    @property
    def splits(self) -> bool:
        return self.is_deep or self.witnessed

    @property
    def strength(self) -> float:
        """The depth, as a multiple of the depth that is needed."""
        return self.depth / self.needed if self.needed else math.inf

    def needs(self, factor: float) -> Valley:
        """Require ``factor`` times the depth of chance."""
        return self._replace(needed=factor * self.needed)


@dataclass(frozen=True)
class Parts:
    """The pieces of a graph, the valleys between them, and the deepest valley left within each piece."""

    labels: Integers  # of the nodes, from 0; −1 for scattered ones
    between: tuple[Valley, ...]
    within: tuple[Valley, ...]

    @property
    def count(self) -> int:
        return int(self.labels.max(initial=-1)) + 1

    @property
    def deepest_within(self) -> float:
        """The largest depth left in a piece, as a share of the depth that would split it."""
        return max((valley.strength for valley in self.within), default=0.0)

    @property
    def range(self) -> tuple[int, int]:
        """The fewest and the most clusters there may be: without weak valleys, and with those that almost split."""
        weak = sum(valley.strength < WEAK for valley in self.between)
        almost = sum(valley.strength > ALMOST for valley in self.within)
        return max(self.count - weak, 1), max(self.count, 1) + almost


def split_at_valleys(
    weights: Any,
    masses: Floats | None,
    least: int,
    stray: Masks | None = None,
    reorder: Callable[[Integers], Floats | None] | None = None,
    *,
    witness: Callable[[Integers, Integers], bool] | None = None,
) -> Parts:
    """Split a symmetric graph at valleys that are deeper than chance makes them.

    Parameters
    ----------
    weights : sparse array (n, n)
        Symmetric similarities.
    masses : array (n,) or None
        The number of samples that each node stands for.
    least : int
        The fewest samples of a piece; samples of smaller components belong to none.
    stray : mask (n,), optional
        Nodes that are left out and belong to none: background.
    reorder : callable, optional
        Gives some nodes values to order them by, or None where it has nothing to say.
    witness : callable, optional
        Says whether the nodes on either side of a valley that is nearly deep enough are two groups.
    """
    mass = np.ones(weights.shape[0]) if masses is None else masses
    kept = np.arange(mass.size) if stray is None else np.flatnonzero(~stray)
    counted = scale_by_masses(weights, mass)
    unit = float(counted[kept][:, kept].sum() / mass[kept].sum())
    labels = np.full(mass.size, -1)
    todo = _components(counted, kept, mass, least)
    between = [Valley(math.inf, 0.0, (float(mass[part].sum()), 0.0)) for part in todo[1:]]
    within: list[Valley] = []
    while todo:
        nodes = todo.pop()
        if mass[nodes].sum() >= 2 * least and nodes.size >= 4:  # large enough for two pieces
            own = counted[nodes][:, nodes]
            values = None if reorder is None else reorder(nodes)
            valley, sides = choose_valley(own / unit, mass[nodes], least, values)
            if witness is not None and valley.strength > DOUBTFUL and not valley.is_deep:
                valley = valley._replace(witnessed=witness(nodes[sides[0]], nodes[sides[1]]))
            if valley.splits:
                between.append(valley)
                todo += [part for side in sides for part in _components(counted, nodes[side], mass, least)]
                continue
            within.append(valley)
        labels[nodes] = labels.max() + 1
    return Parts(labels, tuple(between), tuple(within))


def choose_valley(
    weights: Any, mass: Floats, least: int, values: Floats | None = None
) -> tuple[Valley, tuple[Integers, Integers]]:
    """The valley that comes closest to splitting a part, or splits it best, and the nodes on either side.

    ``values``: a second order that was chosen for its valley.
    """
    order = order_nodes(weights)
    first, place = deepest_valley(cut_profile(weights, order), np.cumsum(mass[order]), least)
    found = [(first, order, place)]
    if values is not None:
        order = np.argsort(values, kind="stable")
        second, at = deepest_valley(cut_profile(weights, order), np.cumsum(mass[order]), least)
        found = [(first.needs(ALONE), found[0][1], place)]
        found.append((second.needs(CONFIRMED if first.is_deep else CHOSEN), order, at))
    valley, order, place = max(found, key=lambda one: one[0].strength)
    return valley, (order[:place], order[place:])


def scale_by_masses(weights: Any, mass: Floats) -> Any:
    """``m_i w_ij m_j``: the total weight between the samples that two nodes stand for."""
    scaled = sp.csr_array(weights, dtype=np.float64, copy=True)
    scaled.data *= np.repeat(mass, np.diff(scaled.indptr)) * mass[scaled.indices]
    return scaled


def _components(counted: Any, nodes: Integers, mass: Floats, least: int) -> list[Integers]:
    """The connected components of some nodes that have at least ``least`` samples."""
    _, labels = connected_components(counted[nodes][:, nodes], directed=False)
    sizes = np.bincount(labels, weights=mass[nodes])
    return [nodes[labels == j] for j in np.flatnonzero(sizes >= least)]


def order_nodes(weights: Any) -> Integers:
    """The nodes in the order of the random walk's second eigenvector."""
    graph = normalize_graph(weights)
    second = eigenvectors.solve_leading(graph, 2, ANGLE).vectors[:, 1]
    return np.argsort(second / np.sqrt(graph.degrees), kind="stable")


def cut_profile(weights: Any, order: Integers) -> Floats:
    """``cut(t) = Σ w_ij`` over pairs with i among the first t of the order and j not, for t = 1 … n − 1."""
    n = order.size
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    edges = sp.triu(weights, 1).tocoo()
    ends = np.sort([place[edges.row], place[edges.col]], axis=0)
    steps = np.bincount(ends[0], edges.data, n) - np.bincount(ends[1], edges.data, n)
    return np.maximum(np.cumsum(steps)[: n - 1], 0)


def valley_depths(profile: Floats) -> Floats:
    """``2(√peak − √cut)`` at each cut; the peak is the lower one of the highest cuts on its two sides."""
    left, right = np.maximum.accumulate(profile), np.maximum.accumulate(profile[::-1])[::-1]
    return 2 * (np.sqrt(np.minimum(left, right)) - np.sqrt(profile))


def deepest_valley(profile: Floats, passed: Floats, least: int) -> tuple[Valley, int]:
    """The deepest valley with at least ``least`` samples on either side, and how many nodes lie before it.

    ``passed``: the samples up to each node of the order, the last one included.
    """
    size, before = float(passed[-1]), passed[:-1]
    depths = np.where((before >= least) & (before <= size - least), valley_depths(profile), 0.0)
    deepest = int(np.argmax(depths))
    sizes = (float(before[deepest]), size - float(before[deepest]))
    needed = math.sqrt(2 * math.log(size / least))
    return Valley(float(depths[deepest]), needed, sizes), deepest + 1
