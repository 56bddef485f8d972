"""Coordinate descent, sample after sample: loops for Numba and for NumPy that give the same labels.

The scalar loops are compiled where Numba is installed and there is enough to do; the vectorized ones use the
equations and search for the next sample that moves. All change their last arguments in place.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from afcm._typing import Floats, Integers
from afcm._util.optional import is_usable
from afcm.baselines import equations
from afcm.baselines.equations import TIE
from afcm.compiled.jit import compile_numba

Loop = TypeVar("Loop", bound=Callable[..., Any])

# Fewer elementary steps a sweep than this are done before Numba is imported.
WORTH_COMPILING = 200_000
# Samples that the vectorized sweep compares at once.
BLOCK_ROWS = 256


def choose_loop(scalar: Loop, vectorized: Loop, n_steps: int) -> Loop:
    """The compiled loop if Numba is installed and there is enough to do, else the vectorized one."""
    loop = compile_loop(scalar) if n_steps >= WORTH_COMPILING else None
    return vectorized if loop is None else loop


@functools.cache
def compile_loop(loop: Callable[..., Any]) -> Any:
    """The loop as machine code; None without Numba."""
    if not is_usable("numba", "fast"):
        return None
    return compile_numba(loop, {"reassoc", "contract"})  # sums of d terms in any order: SIMD


def hartigan_scalar(points: Floats, labels: Integers, centers: Floats, sizes: Integers) -> None:
    """CDKM: `equations.move_costs` and `equations.cheapest_moves`, sample by sample."""
    n_samples, n_features = points.shape
    for i in range(n_samples):
        own, target, best = labels[i], labels[i], 0.0
        if sizes[own] == 1:
            continue
        for step in range(-1, sizes.size):  # the own cluster first
            k = own if step < 0 else step
            if step == own:
                continue
            squared = 0.0
            for f in range(n_features):
                squared += (points[i, f] - centers[k, f]) ** 2
            if step < 0:
                best = squared * sizes[k] / (sizes[k] - 1) * (1 - TIE)
            elif squared * (sizes[k] / (sizes[k] + 1)) < best:
                best, target = squared * (sizes[k] / (sizes[k] + 1)), k
        if target != own:
            for f in range(n_features):
                centers[own, f] -= (points[i, f] - centers[own, f]) / (sizes[own] - 1)
                centers[target, f] += (points[i, f] - centers[target, f]) / (sizes[target] + 1)
            sizes[own] -= 1
            sizes[target] += 1
            labels[i] = target


def hartigan_vectorized(points: Floats, labels: Integers, centers: Floats, sizes: Integers) -> None:
    """`hartigan_scalar` in blocks of rows: find the first that moves, move it, measure its two clusters again."""
    for start in range(0, points.shape[0], BLOCK_ROWS):
        block, tags = points[start : start + BLOCK_ROWS], labels[start : start + BLOCK_ROWS]
        squared = difference_squares(block, centers)
        first = 0
        while first < tags.size:
            targets = equations.cheapest_moves(equations.move_costs(squared[first:], sizes, tags[first:]), tags[first:])
            moving = np.flatnonzero(targets != tags[first:])
            if not moving.size:
                break
            i, pair = first + moving[0], [tags[first + moving[0]], targets[moving[0]]]
            centers[pair] += (block[i] - centers[pair]) / np.array([[1 - sizes[pair[0]]], [sizes[pair[1]] + 1]])
            sizes[pair] += [-1, 1]
            tags[i] = pair[1]
            first = i + 1
            squared[first:, pair] = difference_squares(block[first:], centers[pair])


def moments_scalar(points: Floats, labels: Integers, centers: Floats) -> float:
    """`equations.cluster_means` into ``centers``, and `equations.hard_scatter` about them."""
    n_samples, n_features = points.shape
    sizes, scatter = np.zeros(centers.shape[0]), 0.0
    centers[:] = 0.0
    for i in range(n_samples):
        sizes[labels[i]] += 1
        for f in range(n_features):
            centers[labels[i], f] += points[i, f]
    for k in range(sizes.size):
        for f in range(n_features):
            centers[k, f] /= sizes[k]
    for i in range(n_samples):
        for f in range(n_features):
            scatter += (points[i, f] - centers[labels[i], f]) ** 2
    return scatter


def moments_vectorized(points: Floats, labels: Integers, centers: Floats) -> float:
    """The means and scatter of `moments_scalar`, by the equations."""
    centers[:] = equations.cluster_means(points, labels, centers.shape[0])
    return equations.hard_scatter(points, labels, centers)


def difference_squares(points: Floats, centers: Floats) -> Floats:
    """``d²_ij`` from differences: no digits lost, for few rows."""
    differences = points[:, None, :] - centers
    return np.einsum("ijk,ijk->ij", differences, differences)


class Gram(NamedTuple):
    """``G = Bᵀ B`` in CSR form, and its diagonal."""

    offsets: Integers
    columns: Integers
    values: Floats
    weights: Floats


def anchors_scalar(gram: Gram, links: Floats, squares: Floats, sizes: Integers, labels: Integers) -> None:
    """FCAG: `equations.move_losses` and `equations.cheapest_moves`, anchor by anchor."""
    for i in range(labels.size):
        own, weight = labels[i], gram.weights[i]
        if sizes[own] == 1:
            continue
        rest = max(squares[own] - 2 * links[i, own] + weight, 0.0)
        best, target = (math.sqrt(squares[own]) - math.sqrt(rest)) * (1 + TIE), own
        for k in range(sizes.size):
            gain = math.sqrt(squares[k] + 2 * links[i, k] + weight) - math.sqrt(squares[k])
            if k != own and gain > best:
                best, target = gain, k
        if target != own:
            squares[own] = rest
            squares[target] += 2 * links[i, target] + weight
            for e in range(gram.offsets[i], gram.offsets[i + 1]):
                links[gram.columns[e], own] -= gram.values[e]
                links[gram.columns[e], target] += gram.values[e]
            sizes[own] -= 1
            sizes[target] += 1
            labels[i] = target


def anchors_vectorized(gram: Gram, links: Floats, squares: Floats, sizes: Integers, labels: Integers) -> None:
    """`anchors_scalar` with all clusters of an anchor at once."""
    for i in range(labels.size):
        here, own, weight = slice(i, i + 1), labels[i], gram.weights[i]
        losses = equations.move_losses(squares, links[here], gram.weights[here], sizes, labels[here])
        target = equations.cheapest_moves(losses, labels[here])[0]
        if target != own:
            squares[own] = max(squares[own] - 2 * links[i, own] + weight, 0.0)
            squares[target] += 2 * links[i, target] + weight
            entries = slice(gram.offsets[i], gram.offsets[i + 1])
            links[gram.columns[entries], own] -= gram.values[entries]
            links[gram.columns[entries], target] += gram.values[entries]
            sizes[own] -= 1
            sizes[target] += 1
            labels[i] = target
