"""Memory with very many clusters: of a fit, of the fitted model and of its file, with dense and sparse memberships.

``make bench NAME=clusters``. Normal clouds whose centers are drawn from a normal distribution as wide as they are, and
one cloud alone, in which all clusters touch and every sample keeps as many memberships as it may. A fit's memory is its
peak beyond X in a process of its own, which also writes the file. PlainAFCM makes five sweeps from one start: more need
no more memory.
"""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.measuring import measure

# Model, samples, clusters and how many clouds there are; all samples have so many columns.
CASES = (
    ("AFCM", 20_000, 200, 200),
    ("AFCM", 20_000, 500, 500),
    ("PlainAFCM", 200_000, 2000, 2000),
    ("PlainAFCM", 200_000, 2000, 1),
)
N_FEATURES = 64


def make_clouds(n_samples: int, n_clouds: int) -> Any:
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((n_clouds, N_FEATURES))
    return centers[rng.integers(n_clouds, size=n_samples)] + rng.standard_normal((n_samples, N_FEATURES))


def list_arrays(value: Any) -> list[Any]:
    """Arrays in a fitted model and its parts."""
    if isinstance(value, np.ndarray):
        return [value]
    if sp.issparse(value):
        return [value.data, value.indices, value.indptr]
    if isinstance(value, (tuple, dict)):
        return [array for item in (value.values() if isinstance(value, dict) else value) for array in list_arrays(item)]
    if dataclasses.is_dataclass(value) or hasattr(value, "get_params"):
        return list_arrays(vars(value))
    return []


def count_megabytes(model: Any) -> float:
    """Of a fitted model's arrays, each memory once."""
    bases = [array if array.base is None else array.base for array in list_arrays(model)]
    return sum({id(base): getattr(base, "nbytes", 0) for base in bases}.values()) / 2**20


def fit(name: str, n_clusters: int, form: str, X: Any) -> tuple[float, float]:
    """Fit, and return the megabytes of the model and of its file."""
    import afcm

    more = {"n_init": 1, "max_iter": 5} if name == "PlainAFCM" else {}
    model = getattr(afcm, name)(n_clusters, memberships_format=form, random_state=0, **more).fit(X)
    with tempfile.TemporaryDirectory() as folder:
        size = afcm.save_model(model, Path(folder) / "model.afcm").stat().st_size
    return count_megabytes(model), size / 2**20


def main() -> None:
    columns = f"{'s':>7}{'X MB':>8}{'fit MB':>9}{'model MB':>10}{'file MB':>9}"
    print(f"{'model':<10}{'samples':>9}{'clusters':>10}{'clouds':>8}  {'format':<7}{columns}")
    for name, n_samples, n_clusters, n_clouds in CASES:
        X = make_clouds(n_samples, n_clouds)
        for form in ("dense", "sparse"):
            if n_samples * n_clusters > 1e8 and form == "dense":
                continue  # U alone would be 3 GB
            seconds, extra, (held, size) = measure(fit, name, n_clusters, form, X)
            sizes = f"{X.nbytes / 2**20:>8.0f}{extra:>9.0f}{held:>10.0f}{size:>9.0f}"
            case = f"{name:<10}{n_samples:>9,}{n_clusters:>10,}{n_clouds:>8,}"
            print(f"{case}  {form:<7}{seconds:>7.1f}{sizes}", flush=True)


if __name__ == "__main__":
    main()
