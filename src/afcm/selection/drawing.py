"""The plot of a `Selection`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from afcm.selection.criteria import CRITERIA

if TYPE_CHECKING:
    from afcm.selection.choosing import Selection


def draw(selection: Selection, axes: Any = None) -> Any:
    """Each criterion scaled to 0 (its worst) … 1 (its best), its choice as a dot, the recommendation as a line."""
    if axes is None:
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError("plotting needs matplotlib: pip install 'afcm[plot]'") from error
        axes = Figure(figsize=(8, 4.5), layout="constrained").subplots()
    counts = np.array([row["n_clusters"] for row in selection.table])
    for name, criterion in CRITERIA.items():
        values = np.array([row[name] for row in selection.table]) * (1 if criterion.highest else -1)
        spread = np.nanmax(values, initial=-np.inf) - np.nanmin(values, initial=np.inf)
        if name not in selection.votes or not spread > 0:
            continue
        scaled = (values - np.nanmin(values)) / spread
        (line,) = axes.plot(counts, scaled, alpha=0.8, label=f"{name} → {selection.votes[name]}")
        axes.plot(selection.votes[name], 1, "o", color=line.get_color())
    axes.axvline(selection.n_clusters, color="black", linestyle=":", label=f"recommended: {selection.n_clusters}")
    axes.set(xlabel="number of clusters", ylabel="criterion, from its worst to its best", xticks=counts)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return axes
