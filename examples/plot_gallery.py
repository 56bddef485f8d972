"""Every display of `afcm.plots` on Iris (outliers: two moons with stray samples), as PNG files.

python examples/plot_gallery.py --out out/gallery
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_iris, make_moons

from afcm import AFCM, PlainAFCM, plots, select_n_clusters

DPI = 90


def displays() -> dict[str, Any]:
    """File name → display."""
    X = load_iris(as_frame=True).data
    model = AFCM(3, graph_weight=1000.0 * len(X), random_state=0).fit(X)
    plain = PlainAFCM(3, random_state=0).fit(X)
    selection = select_n_clusters(X, range(1, 9), random_state=0)
    stray = scatter_moons()
    return {
        "embedding": plots.EmbeddingDisplay.from_estimator(model),
        "embedding-components": plots.EmbeddingDisplay.from_estimator(plain, X),
        "convergence": plots.ConvergenceDisplay.from_estimator(model),
        "membership": plots.MembershipDisplay.from_estimator(plain),
        "bands": plots.BandsDisplay.from_estimator(model),
        "ambiguity": plots.AmbiguityDisplay.from_estimator(model),
        "outliers": plots.OutliersDisplay.from_estimator(AFCM(2, random_state=0).fit(stray), stray),
        "profiles": plots.ProfilesDisplay.from_estimator(model, X),
        "levels": plots.LevelsDisplay.from_estimator(AFCM(7, random_state=0).fit(X), n_clusters=3),
        "eigengap": plots.EigengapDisplay.from_estimator(model, X),
        "selection": plots.SelectionDisplay.from_selection(selection),
    }


def scatter_moons() -> Any:
    """Two moons of 540 samples, and 60 that are spread over all."""
    moons, _ = make_moons(540, noise=0.05, random_state=0)
    return np.vstack([moons, np.random.default_rng(0).uniform([-2, -1.5], [3, 2], size=(60, 2))])


def main(arguments: list[str] | None = None) -> int:
    """Draw and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/gallery"), help="folder (default: out/gallery)")
    out = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    mpl.use("Agg")
    drawn = displays()
    for name, display in drawn.items():
        display.figure_.savefig(out / f"{name}.png", dpi=DPI)
    print(f"{len(drawn)} pictures in {out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
