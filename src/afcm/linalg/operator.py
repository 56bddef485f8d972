"""The symmetric operator "sparse graph plus low rank", applied and never formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from afcm._typing import Floats
from afcm.arrays import to_host
from afcm.linalg import tall


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
        image = self.graph @ block
        image *= self.weight
        if self.factor is not None:
            tall.add(image, self.factor, self.factor_weight * tall.inner(self.factor, block))
        return image

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
