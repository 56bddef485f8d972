"""What was drawn, read back from the axes."""

from __future__ import annotations

import numpy as np
from matplotlib.collections import PathCollection


def drawn(ax):
    """Places and colours of all scattered points, by place."""
    dots = [artist for artist in ax.collections if isinstance(artist, PathCollection)]
    places = np.vstack([np.asarray(group.get_offsets()) for group in dots])
    colors = np.vstack([np.broadcast_to(group.get_facecolors(), (len(group.get_offsets()), 4)) for group in dots])
    return sorted_rows(np.column_stack([places, colors]))


def sorted_rows(table):
    table = np.asarray(table, dtype=np.float64)
    return table[np.lexsort(table[:, ::-1].T)]


def texts(ax):
    return [text.get_text() for text in ax.texts]
