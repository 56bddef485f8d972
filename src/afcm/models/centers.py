"""Models whose clusters are their centers: the sweep that FCM, FCM-ER and Algorithm 2 share.

Centers (and γ) determine the memberships, so a state is small. A sweep is one pass over the data, block by block: the
statistics of the blocks add up, and the memberships of a run live in one array that is written in place.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from array_api_compat import array_namespace, device
from scipy import sparse

from afcm._util.threads import map_in_threads
from afcm.arrays import backend_of, dask_backend, is_chunked, is_tensor
from afcm.equations import paper
from afcm.equations.paper import largest_change
from afcm.equations.sparse_memberships import keep_largest
from afcm.models.passes import PassResult, add_parts, merge_results, sample_pass

# Memberships that a block of rows has at most.
BLOCK_ENTRIES = 1 << 20
# Sorting a block needs the memory of so many.
SORTED_ARRAYS = 8

Precision = Any  # γ, a float; None in a model that has none


@dataclass(frozen=True)
class CenterState:
    """Centers, γ (None where the model has none), J, and the statistics from which the next sweep follows."""

    problem: CenterProblem = field(repr=False)
    centers: Any
    precision: Precision
    statistics: paper.Statistics = field(repr=False)
    objective: float
    change: float  # max_ij |u_ij − u'_ij| against the state before
    partial: bool  # does the change cover only some of the samples?

    def whole_change(self, before: CenterState) -> float:
        """``max_ij |u_ij − u'_ij|`` over all samples, from the centers alone."""
        return float(self.problem.membership_change((before.centers, before.precision), (self.centers, self.precision)))

    @property
    def memberships(self) -> Any:
        """U, n×c: the array of the last sweep, or computed again for an older state. No sweep writes to it later."""
        return self.problem.memberships(self)


@dataclass
class MembershipBuffer:
    """The memberships of the last pass, and its centers. Once handed out, the array is not written to again."""

    values: Any = None
    centers: Any = None
    handed_out: bool = False


@dataclass(frozen=True)
class CenterProblem(ABC):
    """Data (n×d) and sample masses (or None: all 1)."""

    points: Any = field(repr=False)
    masses: Any = field(default=None, repr=False)
    known_scatter: float | None = field(default=None, repr=False, kw_only=True)
    keeps_memberships: bool = field(default=True, repr=False, kw_only=True)
    buffer: MembershipBuffer = field(default_factory=MembershipBuffer, init=False, repr=False)

    state_types: ClassVar[tuple[type, ...]] = (CenterState, paper.Statistics)  # for checkpoints
    # Memory order of the memberships: each cluster's column contiguous, or each sample's row.
    columns_first: ClassVar[bool] = False

    @abstractmethod
    def expectation(self, points: Any, masses: Any, centers: Any, precision: Precision) -> tuple[Any, paper.Statistics]:
        """The best memberships of a block of samples, and its statistics."""

    @abstractmethod
    def objective(self, statistics: paper.Statistics, precision: Precision) -> float:
        """J from the statistics of all samples."""

    @abstractmethod
    def precision(self, scatter: float) -> Precision:
        """γ for a fuzzy scatter about new centers."""

    @abstractmethod
    def first_precision(self, centers: Any) -> Precision:
        """γ to start with, where only centers are given."""

    def is_capped(self, precision: Precision) -> bool:
        """Whether γ ran to its cap, so that hard memberships come from the model and not from the data."""
        return False

    def shares(self, memberships: Any) -> Any:
        """The weights of the samples in the centers."""
        return memberships

    def sweep(self, state: CenterState) -> CenterState:
        """New centers (and γ), then new memberships: one pass over the data."""
        return self.at(*self.update_centers(state.centers, state.statistics), after=state)

    def update_centers(self, centers: Any, statistics: paper.Statistics) -> tuple[Any, Precision]:
        """The best centers (and γ) for memberships with these statistics about ``centers``."""
        totals, moments, scatter, _ = statistics
        moved = paper.moved_centers(centers, moments, totals)
        moved = array_namespace(moved).astype(moved, centers.dtype)  # sums over chunks are doubles
        return moved, self.precision(paper.moved_scatter(scatter, moments, totals))

    def at(self, centers: Any, precision: Precision = None, *, after: CenterState | None = None) -> CenterState:
        """The state with the best memberships for these centers and this γ."""
        if is_chunked(self.points) or not self.keeps_memberships or self.compiled_pass(centers) is not None:
            before = None if after is None else (after.centers, after.precision)
            statistics, change, partial = self.scan(centers, precision, before)
        else:
            statistics, change, partial = self._scan_and_store(centers, precision, after)
        objective = self.objective(statistics, precision)
        return CenterState(self, centers, precision, statistics, objective, change, partial)

    @cached_property
    def _compiled_pass(self) -> Any:
        return None

    def compiled_pass(self, centers: Any) -> Any:
        """Compiled code that passes over all samples at once, or None.

        It is called with centers, γ, and the centers and γ before (or None), and gives the statistics and the change,
        but no memberships.
        """
        compiled = self._compiled_pass
        if compiled is None or not compiled.is_worthwhile(self.points, len(centers)):
            return None
        return compiled if compiled.is_accurate_for(centers) else None

    @sample_pass(merge_results)
    def scan(self, centers: Any, precision: Precision, before: tuple[Any, Precision] | None) -> PassResult:
        """The statistics at these centers and γ, and the change since those ``before``; no memberships are kept."""
        compiled = self.compiled_pass(centers)
        if compiled is not None:
            statistics, change = compiled(centers, precision, before)
            return PassResult(statistics, change, getattr(compiled, "partial", False))

        def scan_rows(rows: slice) -> PassResult:
            degrees, statistics = self._expectation(rows, centers, precision)
            if before is None:
                return PassResult(statistics, math.inf)
            former, _ = self._expectation(rows, *before)
            return PassResult(statistics, largest_change(former, degrees, self._masses(rows)))

        return merge_results(self._map_blocks(scan_rows, len(centers)))

    def _scan_and_store(self, centers: Any, precision: Precision, after: CenterState | None = None) -> PassResult:
        """Like `scan`, and the memberships are written to the buffer."""
        before = None if after is None else self._stored(after)
        target = self._output_array(centers)
        self.buffer.centers = None  # a pass that is interrupted leaves memberships of neither state

        def scan_rows(rows: slice) -> PassResult:
            degrees, statistics = self._expectation(rows, centers, precision)
            change = math.inf if before is None else largest_change(before[rows], degrees, self._masses(rows))
            target[rows] = degrees
            return PassResult(statistics, change)

        found = merge_results(self._map_blocks(scan_rows, len(centers)))
        self.buffer.values, self.buffer.centers, self.buffer.handed_out = target, centers, False
        return found

    @sample_pass(max)
    def membership_change(self, before: tuple[Any, Precision], after: tuple[Any, Precision]) -> float:
        """The largest change of a membership between two pairs of centers and γ."""

        def change(rows: slice) -> float:
            former, latter = self._expectation(rows, *before)[0], self._expectation(rows, *after)[0]
            return largest_change(former, latter, self._masses(rows))

        return max(self._map_blocks(change, len(after[0])))

    def memberships(self, state: CenterState) -> Any:
        """U of a state (see `CenterState.memberships`)."""
        if is_chunked(self.points):
            return self.memberships_at(state.centers, state.precision)
        values = self._stored(state)
        self.buffer.handed_out = True
        return values

    def memberships_at(self, centers: Any, precision: Precision) -> Any:
        """U for these centers and γ, in an array that no sweep writes to; of chunks, each when it is asked for."""
        if is_chunked(self.points):
            return dask_backend().map_method(self, "memberships_at", (centers, precision), len(centers))
        self._scan_and_store(centers, precision)
        self.buffer.handed_out = True
        return self.buffer.values

    def sparse_memberships_at(self, centers: Any, precision: Precision) -> Any:
        """The largest few of U for these centers and γ (`keep_largest`), for samples on the host."""

        def keep_rows(rows: slice) -> Any:
            return keep_largest(self._expectation(rows, centers, precision)[0])

        return sparse.vstack(self._map_blocks(keep_rows, SORTED_ARRAYS * len(centers)), format="csr")

    def _stored(self, state: CenterState) -> Any:
        if self.buffer.centers is not state.centers:
            self._scan_and_store(state.centers, state.precision)
        return self.buffer.values

    def _output_array(self, centers: Any) -> Any:
        """The array for the next memberships: the last one, unless it was handed out."""
        shape, last = (self.points.shape[0], centers.shape[0]), self.buffer
        if last.values is not None and not last.handed_out and last.values.shape == shape:
            return last.values
        xp = array_namespace(self.points)
        how = {"dtype": xp.result_type(self.points, centers), "device": device(self.points)}
        return xp.empty(shape[::-1], **how).T if self.columns_first else xp.empty(shape, **how)

    def from_memberships(self, memberships: Any) -> CenterState:
        """The state that a run from given memberships starts with."""
        return self.at(*self.start(memberships))

    def from_centers(self, centers: Any) -> CenterState:
        """The state that a run from given centers starts with."""
        return self.at(centers, self.first_precision(centers))

    def start(self, memberships: Any) -> tuple[Any, Precision]:
        """Centers (and γ) for given memberships: the update of centers that all lie at the mean."""
        centers = array_namespace(self.mean).stack([self.mean] * memberships.shape[1])
        return self.update_centers(centers, self.statistics_about(memberships, self.mean))

    @sample_pass(add_parts)
    def statistics_about(self, memberships: Any, mean: Any) -> paper.Statistics:
        """The statistics of given memberships with all centers at the mean; J plays no part."""
        xp = array_namespace(self.points)

        def sum_rows(rows: slice) -> paper.Statistics:
            shares = paper.weighted(self.shares(memberships[rows]), self._masses(rows))
            shifted = self.points[rows] - mean
            scatter = xp.sum(xp.sum(shares, axis=1) * xp.vecdot(shifted, shifted))
            return paper.Statistics(xp.sum(shares, axis=0), shares.T @ shifted, scatter, 0.0)

        return add_parts(self._map_blocks(sum_rows, memberships.shape[1]))

    def _expectation(self, rows: slice, centers: Any, precision: Precision) -> tuple[Any, paper.Statistics]:
        return self.expectation(self.points[rows], self._masses(rows), centers, precision)

    def _masses(self, rows: slice) -> Any:
        return None if self.masses is None else self.masses[rows]

    def _map_blocks(self, work: Callable[[slice], Any], n_clusters: int) -> list[Any]:
        """``work`` for each block of rows, on all cores; a device spreads its own work."""
        size = backend_of(self.points).BLOCK_ROWS
        if not is_tensor(self.points):
            size = min(size, max(BLOCK_ENTRIES // n_clusters, 1))
        blocks = [slice(start, start + size) for start in range(0, self.points.shape[0], size)]
        if len(blocks) == 1 or is_tensor(self.points):
            return [work(rows) for rows in blocks]
        return map_in_threads(work, blocks)

    @cached_property
    def mass(self) -> float:
        """Number of samples, counted with their masses."""
        return float(self.points.shape[0] if self.masses is None else self.masses.sum())

    @cached_property
    def mean(self) -> Any:
        """The mean of all samples."""
        total = self.sum_points()
        return array_namespace(total).astype(total / self.mass, self.points.dtype)

    @sample_pass(add_parts)
    def sum_points(self) -> Any:
        """The sum of all samples with their masses, ``Σ_i m_i x_i``."""
        xp = array_namespace(self.points)
        return xp.sum(self.points, axis=0) if self.masses is None else self.masses @ self.points

    @cached_property
    def total_scatter(self) -> float:
        """``Σ_i m_i ‖x_i − mean‖²``, or the scatter that `with_total_scatter` was given."""
        return float(self.nearest_scatter(self.mean[None, :])) if self.known_scatter is None else self.known_scatter

    def part(self, points: Any, masses: Any) -> Self:
        """This problem for some of the samples."""
        return replace(self, points=points, masses=masses)

    def without_memberships(self) -> Self:
        """This problem, whose sweeps do not keep U; it needs no array of n×c."""
        return replace(self, keeps_memberships=False)

    def with_total_scatter(self, scatter: float) -> Self:
        """This problem, with the total scatter given, which caps γ: its samples may be a part of others."""
        return replace(self, known_scatter=scatter)

    @sample_pass(add_parts)
    def nearest_scatter(self, centers: Any) -> float:
        """``Σ_i m_i min_j d²_ij``, the scatter of the nearest-center assignment."""
        xp = array_namespace(self.points)

        def sum_rows(rows: slice) -> float:
            nearest = xp.min(paper.squared_distances(self.points[rows], centers), axis=1)
            return float(xp.sum(paper.weighted(nearest, self._masses(rows))))

        return sum(self._map_blocks(sum_rows, len(centers)))
