"""A data set of six samples: its line of the registry, its arrays, its archive."""

from __future__ import annotations

import io

import numpy as np

from afcm.datasets.records import Archive, DatasetInfo

# Three columns, the first of which is no feature.
TINY = DatasetInfo(
    name="tiny",
    paper_name="Tiny",
    shape=(6, 2),
    n_clusters=3,
    printed_features=3,
    source="https://example.org/tiny",
    license="none",
    archive=Archive(file="tiny.npz", skip_columns=1, extras=("scale", "missing")),
)


def arrays():
    return {
        "X": np.arange(18, dtype=np.int16).reshape(6, 3),
        "y": np.array([5, 5, 2, 2, 9, 9], dtype=np.int8),
        "scale": np.array(2.0),
        "missing": np.array([[3, 1]], dtype=np.int16),
    }


def archive():
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays())
    return stream.getvalue()
