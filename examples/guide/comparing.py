"""
Comparing algorithms
====================

This page runs six methods on thirteen toy sets: those of scikit-learn's well-known comparison,
the paper's spirals and rings, and a few that are hard for AFCM. Above each picture stands the
share of samples in the right cluster, in red from 90 % down (background samples do not count).
In the corner is the time of one fit in seconds, on the machine that built this page.

No method was tuned for a single set. Methods that take a number of clusters get the true one.
All other parameters have their defaults, except that SpectralClustering works on a graph of
nearest neighbors and HDBSCAN has ``min_cluster_size=15``.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from afcm import AFCM, FCM
from afcm.datasets import make_rings, make_spirals
from afcm.metrics import clustering_accuracy

N = 500


def make_star(rng, n_arms=5):
    """Thin Gaussian arms that share their middle."""
    classes = np.repeat(np.arange(n_arms), N // n_arms)
    along, across = rng.normal(size=(2, len(classes))) * [[3], [0.15]]
    cosines, sines = np.cos(classes * np.pi / n_arms), np.sin(classes * np.pi / n_arms)
    return np.c_[along * cosines - across * sines, along * sines + across * cosines], classes


def make_sets():
    """Name → samples and classes (−1: background)."""
    rng = np.random.default_rng(0)
    anisotropic, classes = make_blobs(N, random_state=170)
    moons, arms = make_moons(N, noise=0.06, random_state=0)
    haze = rng.uniform(moons.min(axis=0) - 0.5, moons.max(axis=0) + 0.5, size=(N // 5, 2))
    return {
        "circles": make_circles(N, factor=0.5, noise=0.05, random_state=0),
        "circles, wide": make_circles(N, factor=0.5, noise=0.12, random_state=0),
        "moons": make_moons(N, noise=0.06, random_state=0),
        "moons, wide": make_moons(N, noise=0.15, random_state=0),
        "moons and haze": (np.vstack([moons, haze]), np.r_[arms, np.full(len(haze), -1)]),
        "spirals": make_spirals(N, random_state=0),
        "rings": make_rings(N, random_state=0),
        "varied": make_blobs(N, cluster_std=[1.0, 2.5, 0.5], random_state=170),
        "stretched": (anisotropic @ [[0.6, -0.6], [-0.4, 0.8]], classes),
        "blobs": make_blobs(N, random_state=8),
        "cross": (
            rng.normal(size=(N, 2)) * np.repeat([[3, 0.3], [0.3, 3]], N // 2, axis=0),
            np.repeat([0, 1], N // 2),
        ),
        "star": make_star(rng),
        "no structure": (rng.uniform(size=(N, 2)), np.zeros(N, dtype=int)),
    }


def make_methods(n_clusters):
    """Name → clusterer."""
    return {
        "AFCM": AFCM(n_clusters, random_state=0),
        "KMeans": KMeans(n_clusters, n_init=10, random_state=0),
        "GaussianMixture": GaussianMixture(n_clusters, random_state=0),
        "Spectral\nClustering": SpectralClustering(
            n_clusters, affinity="nearest_neighbors", random_state=0
        ),
        "HDBSCAN": HDBSCAN(min_cluster_size=15, copy=True),
        "FCM": FCM(n_clusters, random_state=0),
    }


def fit(method, X):
    """Labels and seconds."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SpectralClustering warns of graphs in several pieces
        labels = method.fit_predict(X)
    return labels, time.perf_counter() - began


# %%
# The grid
# --------

COLORS = np.array(["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442"])
sets = make_sets()
figure, axes = plt.subplots(len(sets), 6, figsize=(11, 1.8 * len(sets)), layout="constrained")
shares = {}
for row, (name, (samples, y)) in zip(axes, sets.items(), strict=True):
    X = StandardScaler().fit_transform(samples)
    clean = y >= 0
    for ax, (title, method) in zip(
        row, make_methods(len(np.unique(y[clean]))).items(), strict=True
    ):
        labels, seconds = fit(method, X)
        share = clustering_accuracy(y[clean], labels[clean])
        shares[name, title.replace("\n", "")] = share
        ax.scatter(
            *X.T, s=3, color=np.where(labels < 0, "#999999", COLORS[labels % len(COLORS)])
        )
        ax.text(
            0.98,
            0.02,
            f"{seconds:.2f} s",
            transform=ax.transAxes,
            ha="right",
            va="bottom",
            fontsize=8,
            bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1},
        )
        head = f"{title}\n" if name == "circles" else ""
        ax.set_title(
            f"{head}{share:.0%}", fontsize=10, color="black" if share > 0.9 else "#B00020"
        )
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)

# %%
# Who fails where
# ---------------
# The same shares as numbers, in percent, with a star at those up to 90. The last row needs
# care: there is nothing to find in it, so a method that is told "one cluster" cannot fail.
# HDBSCAN is not told.

titles = [title.replace("\n", "") for title in make_methods(2)]
print(" " * 15 + "".join(f"{title[:8]:>10}" for title in titles))
for name in sets:
    row = [shares[name, title] for title in titles]
    cells = [f"{100 * share:>9.0f}{'*' if share <= 0.9 else ' '}" for share in row]
    print(f"{name:<15}" + "".join(cells))

# %%
# * **KMeans, GaussianMixture and FCM** describe a cluster by its center (and its spread). They
#   are the right choice for blobs, and cannot find rings or spirals. GaussianMixture is at its
#   best where Gaussian clusters overlap or cross.
# * **SpectralClustering** follows shapes as AFCM does, but loses them when background samples
#   connect the clusters (*moons and haze*).
# * **HDBSCAN** finds shapes and noise, and the number of clusters too. Where densities differ
#   or clusters touch, it leaves many samples without a cluster (gray). These count as wrong
#   here.
# * **AFCM** fails where clusters run into each other. The *wide circles* leave no gap between
#   them. The arms of the *star* share their middle, and a graph cannot tell which arm a sample
#   there belongs to. On the *cross* AFCM gets it right, because it compares its answer with
#   that of a mixture of small Gaussians where clusters touch; on the five arms of the star this
#   does not help.
#
# One draw of each set is an illustration and not a measurement. You find measurements over many
# draws in :doc:`/label-free` and :doc:`/noise-results`.
#
# Can it find the number of clusters?
# -----------------------------------
# ``AFCM("auto")`` is not told how many clusters there are. It counts groups that are separated
# by a gap in density, if the gap is deeper than one that chance would leave. When in doubt it
# counts too few rather than too many. For some of these sets 500 samples are not enough.

for name, (X, y) in sets.items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of no clusters found, here a good answer
        model = AFCM("auto", random_state=0).fit(StandardScaler().fit_transform(X))
    print(f"{name:<16} {len(np.unique(y[y >= 0]))} clusters, counted {model.n_clusters_}")
