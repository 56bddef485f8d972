"""
How it works
============

k-means describes a cluster by its center. That works for clusters that are round, and for no
others. AFCM describes a cluster by **which samples are neighbors**. It does so in three steps:

1. It joins each sample to its nearest neighbors. That gives a graph.
2. It gives each sample new coordinates, so that samples with many connections come close
   together. In these coordinates every cluster is a compact heap, whatever shape it had before.
3. It finds the heaps, and works out how probable each cluster is for each sample.

This page shows every step on two spirals. Each picture is made by the code above it, which you
can read or skip.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

from afcm import AFCM, PlainAFCM, plots
from afcm.datasets import make_spirals
from afcm.metrics import clustering_accuracy

COLORS = np.array(["#0072B2", "#D55E00"])  # blue and orange, for color-blind readers too
X, y = make_spirals(600, random_state=0)

# %%
# 1. The samples
# --------------
# There are two spirals of 300 samples each. The crosses mark their means, and both means have
# samples of both spirals around them. So no method that looks for centers can tell the spirals
# apart. On the right is `PlainAFCM`, AFCM without the graph: it cuts straight through both.

plain = PlainAFCM(2, random_state=0).fit(X)

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
axes[0].scatter(*X.T, s=9, color="0.55")
axes[0].scatter(
    *np.array([X[y == arm].mean(axis=0) for arm in (0, 1)]).T, s=120, marker="x", color="black"
)
axes[0].set_title("samples, and the means of the spirals")
axes[1].scatter(*X.T, s=9, color=COLORS[plain.labels_])
axes[1].set_title(
    f"PlainAFCM: {clustering_accuracy(y, plain.labels_):.0%} right, guessing: about 50%"
)
for ax in axes:
    ax.set_aspect("equal")

# %%
# 2. Neighbors
# ------------
# AFCM joins each sample to its nearest neighbors. It takes ``1.5 log2(n / c)`` of them for n
# samples and c clusters, because larger clusters need a few more neighbors to hold together.
# Close neighbors get heavy edges and distant ones light edges. "Close" means close compared
# with other distances in that place, so you have no length or radius to choose. `AFCM.prepare`
# stops after this step and returns the graph.

prepared = AFCM(2, density_strength=0).prepare(X)  # for now all samples count the same
print(f"{prepared.n_nodes} nodes, {prepared.base.affinity.nnz // 2} edges")


def draw_edges(ax, graph):
    """A line for each edge, wide where the edge is heavy and its samples count."""
    edges = graph.affinity.tocoo()
    once = edges.row < edges.col
    first, second = edges.row[once], edges.col[once]
    masses = np.ones(len(X)) if graph.masses is None else graph.masses
    weights = edges.data[once] * np.sqrt(masses[first] * masses[second])
    lines = np.stack([X[first], X[second]], axis=1)
    widths = 4 * weights / weights.max()
    ax.add_collection(LineCollection(lines, linewidths=widths, colors="#009E73"))
    ax.scatter(*X.T, s=4, color="black", zorder=3)
    ax.set_aspect("equal")


figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
for ax in axes:
    draw_edges(ax, prepared.base)
axes[0].set_title("each sample and its neighbors")
axes[1].set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), title="the middle, enlarged")

# %%
# 3. Weaken the bridges
# ---------------------
# Real data have stray samples between the clusters, and these build bridges that connect what
# does not belong together. We add 60 of them to see this (left). AFCM weakens the bridges in
# two ways (right). First, a sample whose neighbors are unusually far away counts for little: it
# has a small *mass*. Second, an edge becomes lighter if the rest of the graph hardly connects
# its two ends. We call that *sharpening*.

rng = np.random.default_rng(0)
X = np.vstack([X, rng.uniform(X.min(axis=0), X.max(axis=0), size=(60, 2))])

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
draw_edges(axes[0], AFCM(2, density_strength=0).prepare(X).base)
axes[0].set_title("all samples count the same: bridges")
draw_edges(axes[1], AFCM(2).prepare(X).graph)
axes[1].set_title("the graph that AFCM uses")

# %%
# 4. Unfold the graph
# -------------------
# Now each sample gets new coordinates, such that samples joined by heavy edges lie close
# together. They start as the leading eigenvectors of the graph, which spectral clustering uses,
# too. In the new coordinates (`embedding_`, left) each spiral is one compact heap, and heaps
# are what fuzzy c-means is good at. `AFCM` runs it and adjusts the coordinates in turn, until
# both agree.

model = AFCM(2, random_state=0).fit(X)
share = clustering_accuracy(y, model.labels_[:600])
print(f"{share:.1%} of the spirals' samples are in the right cluster")

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
plots.EmbeddingDisplay.from_estimator(model, ax=axes[0])
axes[1].scatter(*X.T, s=9, color=COLORS[model.labels_])
axes[1].set(title="the clusters, in the plane of the samples", aspect="equal")

# %%
# 5. What γ does
# --------------
# In fuzzy c-means every sample has a *membership* in each cluster, a number between 0 and 1.
# How gradual the memberships are is set by a *fuzzifier*, and the user has to choose it. The
# paper's idea is to learn it from the data. The learned number is called γ, and
# ``membership ∝ exp(−γ · squared distance to the center)``. For tight clusters γ becomes large
# and the memberships change abruptly; for wide ones γ becomes small and they change gradually.
#
# Without the graph γ has an exact meaning: ``1 / (2 γ)`` is the variance of the clusters. Here
# `PlainAFCM` recovers the spread from which the samples were drawn:

figure, axes = plt.subplots(
    1, 3, figsize=(9, 2.8), layout="constrained", sharex=True, sharey=True
)
for ax, spread in zip(axes, (0.5, 1.0, 1.6), strict=True):
    blobs = rng.normal(scale=spread, size=(400, 2)) + np.repeat([[-2, 0], [2, 0]], 200, axis=0)
    soft = PlainAFCM(2, random_state=0).fit(blobs)
    ax.scatter(*blobs.T, s=10, c=soft.memberships_[:, 0], cmap="cividis", vmin=0, vmax=1)
    learned = np.sqrt(1 / (2 * soft.gamma_))
    ax.set_title(f"true spread {spread}, learned {learned:.2f}\nγ = {soft.gamma_:.2f}")

# %%
# In the new coordinates of step 4 this does not work. There all samples of a cluster lie almost
# on one point, so γ grows without limit, and the memberships become 0 or 1 even where two
# clusters overlap. That is why `AFCM` does not report these memberships (it keeps them as
# `paper_memberships_`) but computes better ones.
#
# 6. When memberships are soft
# ----------------------------
# Once the clusters are found, AFCM goes back to the original coordinates. It fits one or more
# Gaussians inside each cluster and asks: how probable is each cluster for a sample in this
# place? The answers are the `memberships_`. If two clusters do not touch, they are 0 or 1, and
# rightly so (left). If the clusters overlap, they change gradually from one to the other
# (right). The titles count the samples in doubt: those whose largest membership is below 0.9.

figure, axes = plt.subplots(
    1, 2, figsize=(9, 3.6), layout="constrained", sharex=True, sharey=True
)
for ax, gap in zip(axes, (6, 2.6), strict=True):
    blobs = rng.normal(size=(500, 2)) + np.repeat([[-gap / 2, 0], [gap / 2, 0]], 250, axis=0)
    fitted = AFCM(2, random_state=0).fit(blobs)
    shown = ax.scatter(
        *blobs.T, s=10, c=fitted.memberships_[:, 0], cmap="cividis", vmin=0, vmax=1
    )
    doubt = np.mean(fitted.memberships_.max(axis=1) < 0.9)
    ax.set_title(f"{gap} standard deviations apart: {doubt:.0%} in doubt")
figure.colorbar(shown, ax=axes, label="membership in cluster 0")

# %%
# 7. Who belongs to no cluster?
# -----------------------------
# Memberships tell *which* cluster a sample belongs to, not *whether* it belongs to one at all.
# For this there are `outlier_scores_`: the probability that a sample is background. Here are
# the spirals with the 60 strays again.

plots.OutliersDisplay.from_estimator(model, X)
caught = int((model.outlier_scores_[600:] >= 0.5).sum())
print(f"{caught} of 60 strays have a score of at least 0.5")
print(f"estimated share of background: {model.noise_share_:.0%} (true: {60 / 660:.0%})")

# %%
# The other strays lie on a spiral or close to it, where they look like its own samples.

# %%
# In short
# --------
# * **What it does:** it clusters by neighborhood instead of by distance from a center, and
#   gives each sample a probability for each cluster and a probability of being noise.
# * **When to use it:** if your clusters may have any shape, if there is some noise, or if you
#   want probabilities, labels for new samples, or the number of clusters. Usually you need not
#   tune anything.
# * **When not to:** if your clusters are round and you have very many samples (`KMeans` is
#   faster), or if you want to model the density of the data (`GaussianMixture`). If you only
#   want labels, spectral clustering on the same graph is often as good: the graph brings most
#   of the gain, not the fuzzy part.
# * **What it cannot do:** separate clusters that overlap so much that they look like one. There
#   `AFCM("auto")` answers "one cluster".
#
# Next: :doc:`comparing`, or :doc:`/memberships`.
