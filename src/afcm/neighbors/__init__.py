"""Nearest neighbors behind one call, `find_neighbors`: exact, approximate, or on a GPU."""

from afcm.neighbors.result import Neighbors
from afcm.neighbors.search import SEARCHES, find_neighbors, order_nearby

__all__ = ["SEARCHES", "Neighbors", "find_neighbors", "order_nearby"]
