"""
Comparing algorithms
====================

The toy sets of scikit-learn's well-known comparison, and the paper's spirals and rings, with
six methods. The title of a cell is the share of samples in the right cluster (without the
background where there is some), the number in the corner the time of one fit in seconds, on the
machine that built this page and with whatever else it did.

Nothing was tuned for a single set: all methods that take a number of clusters get the true one,
and everything else is as it comes. SpectralClustering has the graph of 10 neighbors, HDBSCAN
``min_cluster_size=15``.
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
# Everything below 90 %, in words. Read the last line of the grid with care: there is nothing to
# find, and every method that is told "one cluster" is right; HDBSCAN is told nothing.

for (name, title), share in shares.items():
    if share < 0.9:
        print(f"{name:<16} {title:<20} {share:.0%}")

# %%
# * **KMeans, GaussianMixture, FCM** describe a cluster by a center (and a scatter). They are
#   the right choice for blobs, and hopeless on rings and spirals. GaussianMixture is at home
#   where Gaussians overlap or cross.
# * **SpectralClustering** follows shapes as AFCM does, and loses them when background joins the
#   clusters.
# * **HDBSCAN** finds shapes and noise without a number of clusters. It leaves many samples
#   without a cluster where densities differ or clusters touch (gray), and these count as wrong
#   here.
# * **AFCM** fails where clusters run into each other: the **wide circles** leave no gap, and
#   the arms of the **star** share their middle. A graph cannot know which arm a sample there
#   belongs to. On the cross, the same with two arms, its second opinion helps (a mixture of
#   small Gaussians, asked where clusters touch); with five it does not.
#
# One draw of each set is an illustration, not a measurement. Measurements with many seeds and
# with the spread are in :doc:`/label-free` and :doc:`/noise-results`.
#
# May it count by itself?
# -----------------------
# With ``AFCM("auto")`` nobody says how many clusters there are. It counts what is separated by
# a gap that is deeper than chance makes it, and rather says too few than too many: of some of
# these sets 500 samples are not enough for it.

for name, (X, y) in sets.items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of no clusters found, here a good answer
        model = AFCM("auto", random_state=0).fit(StandardScaler().fit_transform(X))
    print(f"{name:<16} {len(np.unique(y[y >= 0]))} clusters, counted {model.n_clusters_}")
