"""Proposition 1: the mixture of generalized Gaussians, by alternating minimization of pro1_e1 (= generalized EM).

J at the best memberships is the negative log-likelihood. Centers and scatters have no closed form for β ≠ 1: their
fixed-point step never raises J for β ≤ 1 and is halved until it does not for β > 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from afcm.equations import generalized_gaussian, paper
from afcm.equations.scatters import Structure, reshape_like

# A step that still raises J after this many halvings is not taken.
MAX_HALVINGS = 12
# Rounds of shape and size in a sweep where several shapes share one size.
SHAPE_ROUNDS = 5
# J "rises" when it does so by more than rounding.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Parameters:
    """Θ of eq. d: one row, matrix or number per component, and the scale m."""

    weights: Any  # α, c
    centers: Any  # V, c×d
    scatters: Any  # Σ, c×(d×d, d or one number, by the geometry)
    shapes: Any  # β, c
    scale: float  # m


@dataclass(frozen=True)
class MixtureState:
    """Parameters, and the distances, memberships and J of the samples that follow from them."""

    parameters: Parameters
    distances: Any
    memberships: Any
    objective: float

    @property
    def precision(self) -> float:
        """The scale m, which is AFCM's γ."""
        return self.parameters.scale

    @property
    def trace(self) -> dict[str, Any]:
        """Columns of the history beside those of the loop: β."""
        return {"shape": self.parameters.shapes}


@dataclass(frozen=True)
class MixtureProblem:
    """Samples (best centered), their masses (or None), the kind of scatter and of shape."""

    points: Any
    masses: Any
    structure: Structure
    reg_covar: float
    learn_shape: bool
    shared_shape: bool

    state_types: ClassVar[tuple[type, ...]] = (MixtureState, Parameters)  # for checkpoints

    def sweep(self, state: MixtureState) -> MixtureState:
        """Weights; centers and scatters; scale and shape; memberships."""
        shares = paper.weighted(state.memberships, self.masses)
        parameters = replace(state.parameters, weights=generalized_gaussian.mixing_weights(shares.sum(axis=0)))
        parameters, distances = self.update_centers_and_scatters(parameters, state.distances, shares)
        for _ in range(self.shape_rounds):
            parameters, distances = self.update_shapes_and_scale(parameters, distances, shares)
        return self.at(parameters, distances)

    @property
    def dimension(self) -> int:
        """d, the number of features."""
        return int(self.points.shape[1])

    @property
    def objective_scale(self) -> float:
        """The number of samples: J is a sum over them, and shifts by a constant with the unit of the data."""
        return float(self.points.shape[0] if self.masses is None else self.masses.sum())

    @property
    def shape_rounds(self) -> int:
        """Rounds a sweep: more than one where several shapes share one size, and shapes and size alternate."""
        return SHAPE_ROUNDS if self.learn_shape and self.structure.is_pooled and not self.shared_shape else 1

    def at(self, parameters: Parameters, distances: Any = None) -> MixtureState:
        """The state with the best memberships for these parameters."""
        distances = self.distances(parameters) if distances is None else distances
        log_joint = log_densities(distances, parameters, self.structure) + log_weights(parameters)
        objective = -float(np.sum(paper.weighted(generalized_gaussian.log_likelihoods(log_joint), self.masses)))
        return MixtureState(parameters, distances, generalized_gaussian.memberships(log_joint), objective)

    def from_memberships(self, memberships: Any, shape: float) -> MixtureState:
        """The state that a run starts with: the covariances of the soft clusters; tiny clusters get the common one."""
        shares = paper.weighted(memberships, self.masses)
        totals, scale = shares.sum(axis=0), generalized_gaussian.GAUSSIAN_SCALE
        centers, shapes = paper.centers(self.points, memberships, self.masses), np.full(totals.size, shape)
        moments = self.moments(centers, shares)
        own = self.structure.divide_moments(moments, np.maximum(totals, generalized_gaussian.TINY))
        poor = (effective_sizes(shares) <= self.dimension) & (not self.structure.tied)
        covariances = np.where(reshape_like(poor, moments), moments.sum(axis=0) / totals.sum(), own)
        factors = generalized_gaussian.covariance_factors(shapes, scale, self.dimension)
        scatters = covariances / reshape_like(factors, covariances)
        start = Parameters(generalized_gaussian.mixing_weights(totals), centers, scatters, shapes, scale)
        if not self.structure.identity:
            return self.at(replace(start, scatters=self.floor_scatters(start)))
        start = replace(start, scatters=np.ones_like(totals))
        return self.at(*self.update_scale(start, self.distances(start), shares))

    def update_centers_and_scatters(
        self, parameters: Parameters, distances: Any, shares: Any
    ) -> tuple[Parameters, Any]:
        """The fixed-point step, shortened for the components whose loss it would raise; also the new distances."""
        tied, shapes = self.structure.tied, parameters.shapes
        pulled = shares * generalized_gaussian.pulls(distances, shapes, parameters.scale, self.dimension)
        before = self.losses(parameters, distances, shares, joint=tied)
        steps = self.first_steps(shapes, shares.sum(axis=0))
        for _ in range(MAX_HALVINGS):
            candidate = self.take_step(parameters, pulled, shares.sum(axis=0), steps)
            reached = self.distances(candidate)
            fine = is_not_above(self.losses(candidate, reached, shares, joint=tied), before)
            if fine.all():
                return candidate, reached
            steps = shorten_steps(steps, fine, shapes)
        candidate = self.take_step(parameters, pulled, shares.sum(axis=0), np.where(fine, steps, 0.0))
        return candidate, self.distances(candidate)

    def first_steps(self, shapes: Any, totals: Any) -> Any:
        """Shares of the fixed-point step for centers and scatters (2×c).

        All of it for β ≤ 1; for β > 1 about a Newton step, ``(d + 2) / (d + 2β)`` of it; none for an empty component.
        """
        steps = np.minimum(1.0, (self.dimension + 2) / (self.dimension + 2 * shapes))
        steps = np.full_like(steps, steps.min()) if self.structure.tied else steps
        return np.tile(steps * (totals > paper.MIN_MASS), (2, 1))

    def take_step(self, parameters: Parameters, pulled: Any, totals: Any, steps: Any) -> Parameters:
        """A share of the way from (V, Σ) to the fixed-point targets."""
        means = (pulled.T @ self.points) / np.maximum(pulled.sum(axis=0), generalized_gaussian.TINY)[:, None]
        centers = (1 - steps[0])[:, None] * parameters.centers + steps[0][:, None] * means
        if self.structure.identity:
            return replace(parameters, centers=centers)
        moments = self.moments(centers, 2 * parameters.scale * parameters.shapes * pulled)
        targets = self.structure.divide_moments(moments, np.maximum(totals, generalized_gaussian.TINY))
        targets = self.floor_scatters(replace(parameters, scatters=targets))
        shares = reshape_like(np.full_like(steps[1], steps[1].max()) if self.structure.tied else steps[1], targets)
        return replace(parameters, centers=centers, scatters=(1 - shares) * parameters.scatters + shares * targets)

    def update_shapes_and_scale(self, parameters: Parameters, distances: Any, shares: Any) -> tuple[Parameters, Any]:
        """Shape and scale together, where that does not raise J."""
        joint = self.shared_shape or self.structure.is_pooled
        shapes = self.solve_shapes(parameters, distances, shares) if self.learn_shape else parameters.shapes
        candidate, reached = self.update_scale(replace(parameters, shapes=shapes), distances, shares)
        before = self.losses(parameters, distances, shares, joint=joint)
        fine = is_not_above(self.losses(candidate, reached, shares, joint=joint), before)
        if fine.all():
            return candidate, reached
        if joint:
            return parameters, distances
        scatters = np.where(reshape_like(fine, candidate.scatters), candidate.scatters, parameters.scatters)
        kept = replace(candidate, scatters=scatters, shapes=np.where(fine, shapes, parameters.shapes))
        return kept, np.where(fine, reached, distances)

    def solve_shapes(self, parameters: Parameters, distances: Any, shares: Any) -> Any:
        """β from its equation: one for all, or one per component; an empty component keeps its own."""
        log_distances = np.log(np.maximum(distances, generalized_gaussian.TINY))
        with np.errstate(divide="ignore"):
            log_shares = np.log(shares)
        filled = np.flatnonzero(shares.sum(axis=0) > paper.MIN_MASS)
        shapes = parameters.shapes.copy()
        for columns in [filled] if self.shared_shape else filled[:, None]:
            blocks = [columns] if self.structure.is_pooled else columns[:, None]
            samples = [(log_distances[:, block].ravel(), log_shares[:, block].ravel()) for block in blocks]
            fixed = parameters.scale if self.structure.is_pooled and not self.shared_shape else None
            equation = partial(pooled_equation, samples=samples, dimension=self.dimension, scale=fixed)
            shapes[columns] = generalized_gaussian.solve_shape(equation, float(shapes[columns[0]]))
        return shapes if not self.shared_shape else np.full_like(shapes, shapes[filled[0]])

    def update_scale(self, parameters: Parameters, distances: Any, shares: Any) -> tuple[Parameters, Any]:
        """The best scale for these shapes: m where Σ = I, else the size of Σ, so that m stays 1/2."""
        shapes, totals = parameters.shapes, shares.sum(axis=0)
        power_totals = np.sum(shares * generalized_gaussian.powers(distances, shapes), axis=0)
        if self.structure.identity:
            scale = generalized_gaussian.scale(totals, power_totals, shapes, self.dimension)
            return replace(parameters, scale=min(scale, self.largest_scale(shapes))), distances
        groups = [slice(None)] if self.structure.tied else [slice(j, j + 1) for j in range(totals.size)]
        sizes = np.ones_like(totals)
        for group in groups:
            if totals[group].sum() > paper.MIN_MASS:
                sizes[group] = generalized_gaussian.size(
                    totals[group], power_totals[group], shapes[group], self.dimension
                )
        resized = replace(parameters, scatters=parameters.scatters * reshape_like(sizes, parameters.scatters))
        floored = replace(resized, scatters=self.floor_scatters(resized))
        untouched = np.array_equal(floored.scatters, resized.scatters)
        return floored, distances / sizes if untouched else self.distances(floored)

    def largest_scale(self, shapes: Any) -> float:
        """The m at which the smallest covariance is ``reg_covar``."""
        if self.reg_covar == 0:
            return float("inf")
        widest = generalized_gaussian.covariance_factors(shapes, 1.0, self.dimension) / self.reg_covar
        return float(np.exp(np.min(shapes * np.log(widest))))

    def distances(self, parameters: Parameters) -> Any:
        return squared_distances(self.points, parameters, self.structure)

    def moments(self, centers: Any, coefficients: Any) -> Any:
        """``Σ_i a_ij (x_i − v_j)(x_i − v_j)ᵀ`` for each component."""
        columns = zip(centers, coefficients.T, strict=True)
        return np.array([self.structure.geometry.moment(self.points - center, column) for center, column in columns])

    def floor_scatters(self, parameters: Parameters) -> Any:
        """Scatters such that no covariance has a variance below ``reg_covar``."""
        factors = generalized_gaussian.covariance_factors(parameters.shapes, parameters.scale, self.dimension)
        least = self.reg_covar / factors
        if self.structure.tied:
            common = self.structure.geometry.floor_variances(parameters.scatters[0], float(least.max()))
            return np.broadcast_to(common, parameters.scatters.shape)
        pairs = zip(parameters.scatters, least, strict=True)
        return np.array([self.structure.geometry.floor_variances(scatter, floor) for scatter, floor in pairs])

    def losses(self, parameters: Parameters, distances: Any, shares: Any, *, joint: bool) -> Any:
        """part2 by component; where they share a step, their mean for each."""
        losses = generalized_gaussian.component_losses(log_densities(distances, parameters, self.structure), shares)
        return np.full_like(losses, losses.mean()) if joint else losses


def squared_distances(points: Any, parameters: Parameters, structure: Structure) -> Any:
    """``y_ij = (x_i − v_j)ᵀ Σ_j⁻¹ (x_i − v_j)``, n×c."""
    pairs = zip(parameters.centers, parameters.scatters, strict=True)
    columns = [structure.geometry.squared_lengths(points - center, scatter) for center, scatter in pairs]
    return np.stack(columns, axis=1)


def log_densities(distances: Any, parameters: Parameters, structure: Structure) -> Any:
    """e4 for samples at these distances, n×c."""
    dimension = parameters.centers.shape[1]
    scatters = parameters.scatters[:1] if structure.tied else parameters.scatters
    determinants = np.array([structure.geometry.log_determinant(scatter, dimension) for scatter in scatters])
    return generalized_gaussian.log_densities(distances, determinants, parameters.shapes, parameters.scale, dimension)


def log_joint(points: Any, parameters: Parameters, structure: Structure) -> Any:
    """``log α_j g(x_i | θ_j)``, n×c."""
    distances = squared_distances(points, parameters, structure)
    return log_densities(distances, parameters, structure) + log_weights(parameters)


def log_weights(parameters: Parameters) -> Any:
    """``log α_j``, finite for an empty component."""
    return np.log(np.maximum(parameters.weights, generalized_gaussian.TINY))


def draw_samples(parameters: Parameters, structure: Structure, counts: Any, random: np.random.RandomState) -> Any:
    """``counts[j]`` draws from each component j, one component after the other."""
    dimension, parts = parameters.centers.shape[1], []
    for j, count in enumerate(counts):
        noise = generalized_gaussian.draw_standard(count, dimension, parameters.shapes[j], parameters.scale, random)
        parts.append(parameters.centers[j] + structure.geometry.color_noise(noise, parameters.scatters[j]))
    return np.concatenate(parts)


def pooled_equation(shape: float, samples: Any, dimension: int, scale: float | None) -> tuple[float, float]:
    """The shape equation of components with one β, each block of samples with its own best scale or with ``scale``."""
    total, value, slope = 0.0, 0.0, 0.0
    for log_distances, log_shares in samples:
        mass = float(np.exp(log_shares).sum())
        statistics = generalized_gaussian.power_statistics(log_distances, log_shares, shape)
        if scale is None:
            part = generalized_gaussian.shape_equation(shape, statistics, mass, dimension)
        else:
            part = generalized_gaussian.shape_equation_at_scale(shape, statistics, mass, dimension, scale)
        total, value, slope = total + mass, value + mass * part[0], slope + mass * part[1]
    return value / total, slope / total


def shorten_steps(steps: Any, fine: Any, shapes: Any) -> Any:
    """Half the steps that were not fine; for β ≤ 1 only a center stuck to a sample can raise the loss: it stays."""
    stuck = (shapes <= 1) & (steps[0] > 0)
    return np.where(fine, steps, np.where(stuck, steps * [[0.0], [1.0]], steps / 2))


def effective_sizes(shares: Any) -> Any:
    """``(Σ_i w_ij)² / Σ_i w_ij²``: how many samples a component really rests on."""
    return np.square(shares.sum(axis=0)) / np.maximum(np.square(shares).sum(axis=0), generalized_gaussian.TINY)


def is_not_above(after: Any, before: Any) -> Any:
    """``after ≤ before`` up to rounding."""
    return np.asarray(after <= before + ROUNDING * (1 + np.abs(before)))
