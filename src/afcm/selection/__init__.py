"""How many clusters: six criteria in one table, and a recommendation with its reason."""

from afcm.selection.choosing import Selection, select_n_clusters

__all__ = ["Selection", "select_n_clusters"]
