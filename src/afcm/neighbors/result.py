"""`Neighbors`, the result of every search."""

from __future__ import annotations

from dataclasses import dataclass

from afcm._typing import Floats, Integers


@dataclass(frozen=True)
class Neighbors:
    """The neighbors of each row, nearest first, and the squared distances to them (float64).

    ``recall`` is the share of true neighbors among them, estimated if the search was approximate.
    """

    indices: Integers
    squared: Floats
    recall: float = 1.0

    def first(self, k: int) -> Neighbors:
        """The k nearest, or all if there are fewer."""
        return Neighbors(self.indices[:, :k], self.squared[:, :k], self.recall)

    def take(self, rows: slice) -> Neighbors:
        """The neighbors of some rows."""
        return Neighbors(self.indices[rows], self.squared[rows], self.recall)
