"""What the models have in common whose clusters are their centres: FCM, FCM-ER and Algorithm 2.

Centres (and γ) determine the memberships, so a state is small. A sweep looks at the data once, block by block: the
statistics of the blocks add up, and the memberships of the run live in one array that is written in place.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from array_api_compat import array_namespace, device

from afcm._util.threads import gathered
from afcm.arrays import backend_of, dask_side, is_chunked, is_tensor
from afcm.arrays.numpy_arrays import BLOCK_ROWS
from afcm.compiled.looks import fused_look
from afcm.equations import paper
from afcm.equations.paper import largest_change
from afcm.models.passes import Look, added, joined, passing

Precision = Any  # γ, a float; None in a model that has none


@dataclass(frozen=True)
class CenterState:
    """Centres, γ (None where the model has none), J, and the statistics that lead on."""

    problem: CenterProblem = field(repr=False)
    centers: Any
    precision: Precision
    statistics: paper.Statistics = field(repr=False)
    objective: float
    change: float = math.inf  # max_ij |u_ij − u'_ij| against the state before
    partial: bool = False  # is the change that of some samples only?

    def whole_change(self, before: CenterState) -> float:
        """The change of all samples."""
        return self.problem.whole_change(before, self)

    @property
    def memberships(self) -> Any:
        """U, n×c: the array of the last sweep, or computed again for an older state. Yours to keep."""
        return self.problem.memberships(self)


@dataclass
class Ledger:
    """The memberships at the centres looked at last; once lent, they are not written to again."""

    values: Any = None
    centers: Any = None
    lent: bool = False


@dataclass(frozen=True)
class CenterProblem(ABC):
    """Data (n×d) and sample masses (or None: all 1)."""

    points: Any = field(repr=False)
    masses: Any = field(default=None, repr=False)
    ledger: Ledger = field(default_factory=Ledger, init=False, repr=False, compare=False)

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
        """γ for a fuzzy scatter about new centres."""

    @abstractmethod
    def first_precision(self, centers: Any) -> Precision:
        """γ to start with, where only centres are given."""

    def capped(self, precision: Precision) -> bool:
        """Did γ run to its cap, so that hard memberships are the model's doing?"""
        return False

    def shares(self, memberships: Any) -> Any:
        """What samples of these memberships weigh in the centres."""
        return memberships

    def sweep(self, state: CenterState) -> CenterState:
        """New centres (and γ), then new memberships: one look at the data."""
        return self.at(*self.following(state.centers, state.statistics), after=state)

    def following(self, centers: Any, statistics: paper.Statistics) -> tuple[Any, Precision]:
        """The best centres (and γ) for memberships with these statistics about ``centers``."""
        totals, moments, scatter, _ = statistics
        moved = paper.moved_centers(centers, moments, totals)
        moved = array_namespace(moved).astype(moved, centers.dtype, copy=False)  # sums over chunks are doubles
        return moved, self.precision(paper.moved_scatter(scatter, moments, totals))

    def at(self, centers: Any, precision: Precision = None, *, after: CenterState | None = None) -> CenterState:
        """The state with the best memberships for these centres and this γ."""
        if is_chunked(self.points) or self.fused(centers):
            before = None if after is None else (after.centers, after.precision)
            statistics, change, partial = self.look(centers, precision, before)
        else:
            statistics, change, partial = self._look_by_blocks(centers, precision, after)
        objective = self.objective(statistics, precision)
        return CenterState(self, centers, precision, statistics, objective, change, partial)

    @property
    def fusible(self) -> bool:
        """Is there compiled code for this model?"""
        return False

    def fused(self, centers: Any) -> Any:
        """What looks at all samples in one go, with the statistics and the change but no memberships; or None.

        Called with centres, γ, and the centres and γ before (or None).
        """
        look = self._fused if self.fusible else None
        return look if look is not None and look.fits(self.points, len(centers)) and look.reaches(centers) else None

    @cached_property
    def _fused(self) -> Any:
        return fused_look(self.points, self.masses)

    @passing(joined)
    def look(self, centers: Any, precision: Precision, before: tuple[Any, Precision] | None) -> Look:
        """The statistics at these centres and γ, and the change since those ``before``; no memberships are kept."""
        fused = self.fused(centers)
        if fused:
            statistics, change = fused(centers, precision, before)
            return Look(statistics, change, getattr(fused, "partial", False))
        return joined(self._by_blocks(lambda rows: self._look_at(rows, (centers, precision), before)))

    def _look_at(self, rows: slice, now: tuple[Any, Precision], before: tuple[Any, Precision] | None) -> Look:
        degrees, statistics = self.expectation(self.points[rows], self._masses(rows), *now)
        if before is None:
            return Look(statistics, math.inf)
        return Look(statistics, largest_change(self._degrees(rows, before), degrees, self._masses(rows)))

    def _degrees(self, rows: slice, centers_and_precision: tuple[Any, Precision]) -> Any:
        return self.expectation(self.points[rows], self._masses(rows), *centers_and_precision)[0]

    def whole_change(self, before: CenterState, after: CenterState) -> float:
        """``max_ij |u_ij − u'_ij|`` over all samples, from the centres alone."""
        return float(self.move((before.centers, before.precision), (after.centers, after.precision)))

    @passing(max)
    def move(self, before: tuple[Any, Precision], after: tuple[Any, Precision]) -> float:
        """The largest change of a membership between two sets of centres and γ."""

        def part(rows: slice) -> float:
            return largest_change(self._degrees(rows, before), self._degrees(rows, after), self._masses(rows))

        return max(self._by_blocks(part))

    def _look_by_blocks(self, centers: Any, precision: Precision, after: CenterState | None = None) -> Look:
        """Statistics, and the change of the memberships, which are written down."""
        before = None if after is None else self._held(after)
        target = self._page(centers)
        self.ledger.centers = None

        def part(rows: slice) -> Look:
            degrees, statistics = self.expectation(self.points[rows], self._masses(rows), centers, precision)
            change = math.inf if before is None else largest_change(before[rows], degrees, self._masses(rows))
            target[rows] = degrees
            return Look(statistics, change)

        found = joined(self._by_blocks(part))
        self.ledger.values, self.ledger.centers, self.ledger.lent = target, centers, False
        return found

    def memberships(self, state: CenterState) -> Any:
        """U of a state (see `CenterState.memberships`)."""
        if is_chunked(self.points):
            return self.memberships_at(state.centers, state.precision)
        values = self._held(state)
        self.ledger.lent = True
        return values

    def memberships_at(self, centers: Any, precision: Precision) -> Any:
        """U for these centres and γ, yours to keep; of chunks, each when it is asked for."""
        if is_chunked(self.points):
            return dask_side().mapped(self, "memberships_at", (centers, precision), len(centers))
        self._look_by_blocks(centers, precision)
        self.ledger.lent = True
        return self.ledger.values

    def _held(self, state: CenterState) -> Any:
        if self.ledger.centers is not state.centers:
            self._look_by_blocks(state.centers, state.precision)
        return self.ledger.values

    def _page(self, centers: Any) -> Any:
        """Where the next memberships are written: over the last ones, unless someone has them."""
        shape, old = (self.points.shape[0], centers.shape[0]), self.ledger
        if old.values is not None and not old.lent and old.values.shape == shape:
            return old.values
        xp = array_namespace(self.points, centers)
        how = {"dtype": xp.result_type(self.points, centers), "device": device(self.points)}
        return xp.empty(shape[::-1], **how).T if self.columns_first else xp.empty(shape, **how)

    def from_memberships(self, memberships: Any) -> CenterState:
        """The start from given memberships."""
        return self.at(*self.start(memberships))

    def from_centers(self, centers: Any) -> CenterState:
        """The start from given centres."""
        return self.at(centers, self.first_precision(centers))

    def start(self, memberships: Any) -> tuple[Any, Precision]:
        """Centres (and γ) for given memberships: the sweep of a state whose centres are all at the mean."""
        home = array_namespace(self.mean).stack([self.mean] * memberships.shape[1])
        return self.following(home, self.about(memberships, self.mean))

    @passing(added)
    def about(self, memberships: Any, mean: Any) -> paper.Statistics:
        """The statistics of given memberships with all centres at the mean; J plays no part."""
        return added(self._by_blocks(lambda rows: self._about(rows, memberships[rows], mean)))

    def _about(self, rows: slice, memberships: Any, mean: Any) -> paper.Statistics:
        xp = array_namespace(self.points)
        shares = paper.weighted(self.shares(memberships), self._masses(rows))
        shifted = self.points[rows] - mean
        scatter = xp.sum(xp.sum(shares, axis=1) * xp.vecdot(shifted, shifted))
        return paper.Statistics(xp.sum(shares, axis=0), shares.T @ shifted, scatter, 0.0)

    def _blocks(self) -> Iterator[slice]:
        return blocks(self.points.shape[0], backend_of(self.points).BLOCK_ROWS)

    def _by_blocks(self, work: Callable[[slice], Any]) -> list[Any]:
        """What the work gives for each block of rows, on all cores; a device has its own."""
        parts = list(self._blocks())
        if len(parts) == 1 or is_tensor(self.points):
            return [work(rows) for rows in parts]
        return gathered(work, parts)

    def _masses(self, rows: slice) -> Any:
        return None if self.masses is None else self.masses[rows]

    @cached_property
    def mass(self) -> float:
        """Number of samples, counted with their masses."""
        return float(self.points.shape[0] if self.masses is None else self.masses.sum())

    @cached_property
    def mean(self) -> Any:
        """The mean of all samples."""
        total = self.sums()
        return array_namespace(total).astype(total / self.mass, self.points.dtype, copy=False)

    @passing(added)
    def sums(self) -> Any:
        """``Σ_i m_i x_i``."""
        xp = array_namespace(self.points)
        return xp.sum(self.points, axis=0) if self.masses is None else self.masses @ self.points

    @cached_property
    def total_scatter(self) -> float:
        """``Σ_i m_i ‖x_i − mean‖²``."""
        return float(self.nearest_scatter(self.mean[None, :]))

    def part(self, points: Any, masses: Any) -> Self:
        """The same model with some of the samples."""
        return replace(self, points=points, masses=masses)

    def within(self, total_scatter: float) -> Self:
        """The same samples as a part of others with this total scatter, which caps γ (counted for this part's mass)."""
        part = copy(self)
        part.__dict__["total_scatter"] = total_scatter
        return part

    @passing(added)
    def nearest_scatter(self, centers: Any) -> float:
        """``Σ_i m_i min_j d²_ij``, the scatter of the nearest-centre assignment."""
        return sum(self._by_blocks(lambda rows: self._nearest_scatter(rows, centers)))

    def _nearest_scatter(self, rows: slice, centers: Any) -> float:
        xp = array_namespace(self.points)
        nearest = xp.min(paper.squared_distances(self.points[rows], centers), axis=1)
        return float(xp.sum(paper.weighted(nearest, self._masses(rows))))


def blocks(n_rows: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    """Consecutive row slices."""
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))
