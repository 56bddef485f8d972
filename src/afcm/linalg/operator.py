"""The symmetric operator "sparse graph plus low rank", applied and never formed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from afcm._typing import Floats
from afcm.arrays import to_host
from afcm.linalg import tall
from afcm.linalg.products import parallelize

# A factor of so many columns, of which at most this share is not zero, is multiplied without its zeros.
MANY_COLUMNS, FEW_ENTRIES = 32, 0.1


@dataclass(frozen=True)
class GraphPlusLowRank:
    """The symmetric operator ``weight · graph + factor_weight · factor factorᵀ``.

    Only ``graph @ block`` is asked of the graph: SciPy sparse, dense, or anything of that kind.
    """

    graph: Any
    weight: float = 1.0
    factor: Floats | None = None
    factor_weight: float = 0.0

    @property
    def size(self) -> int:
        return int(self.graph.shape[0])

    @property
    def scale(self) -> float:
        """Bound on the norm where graph and factor have norm one: the unit of tolerances."""
        return abs(self.weight) + self.factor_weight

    def __matmul__(self, block: Floats) -> Floats:
        image: Floats = self.graph @ block
        image *= self.weight
        if self.factor is not None:
            self.add_factor(image, self.factor_weight * self.project(block))
        return image

    def project(self, block: Floats) -> Floats:
        """``factorᵀ @ block``, where the block is."""
        factor: Any = self.factor
        projected: Floats = tall.inner(factor, block) if self._few is None else self._few[0] @ block
        return projected

    def add_factor(self, target: Floats, coefficients: Floats) -> None:
        """``target ← target + factor @ coefficients`` in place."""
        factor: Any = self.factor
        if self._few is None:
            tall.add(target, factor, coefficients)
        else:
            target += self._few[1] @ coefficients

    @cached_property
    def _few(self) -> tuple[Any, Any] | None:
        """The factor's transpose and the factor without their zeros, as of hard memberships; None if it has few."""
        factor = self.factor
        if not isinstance(factor, np.ndarray) or factor.shape[1] < MANY_COLUMNS:
            return None
        if np.count_nonzero(factor) > FEW_ENTRIES * factor.size:
            return None
        few = sp.csr_array(factor)
        return parallelize(few.T.tocsr()), parallelize(few)

    def to_host(self) -> GraphPlusLowRank:
        return GraphPlusLowRank(to_host(self.graph), self.weight, to_host(self.factor), self.factor_weight)

    def to_dense(self) -> Floats:
        """The n×n matrix, for small n and for tests."""
        dense = self.graph.toarray() if hasattr(self.graph, "toarray") else np.array(self.graph)
        dense *= self.weight
        if self.factor is not None:
            dense += self.factor @ (self.factor_weight * self.factor.T)
        return dense


@dataclass(frozen=True)
class Eigenpairs:
    """Leading eigenvectors, and how far to trust them."""

    vectors: Floats  # n×q, orthonormal
    values: Floats  # q, falling
    graph_image: Floats  # graph @ vectors
    residual: float  # largest ‖A z − θ z‖ relative to the largest |θ|
    trace_error: float  # bound on how much Σθ can still grow
    n_products: int  # block products with the graph
    converged: bool
