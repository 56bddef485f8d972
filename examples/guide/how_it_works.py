"""
How it works
============

k-means describes a cluster by its center. That is right for clusters that are balls, and wrong
for all others. AFCM describes a cluster by **who is near whom**: it joins neighbors to a graph,
unfolds the graph, and looks for balls where the clusters have become balls.

This page does it step by step on two spirals. Every picture is made by the code above it;
read the code or skip it.
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
# Two spirals, 300 samples each. The crosses are their means. Around each mean lie samples of
# both spirals, so no center can tell the spirals apart: `PlainAFCM` (fuzzy c-means that learns
# its fuzziness) cuts straight through both.

plain = PlainAFCM(2, random_state=0).fit(X)

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
axes[0].scatter(*X.T, s=9, color="0.55")
axes[0].scatter(
    *np.array([X[y == arm].mean(axis=0) for arm in (0, 1)]).T, s=120, marker="x", color="black"
)
axes[0].set_title("samples, and the means of the spirals")
axes[1].scatter(*X.T, s=9, color=COLORS[plain.labels_])
axes[1].set_title(
    f"PlainAFCM: {clustering_accuracy(y, plain.labels_):.0%} right, a coin would have 50 %"
)
for ax in axes:
    ax.set_aspect("equal")

# %%
# 2. Neighbors
# ------------
# Each sample is joined to its nearest neighbors. How many? ``1.5 log2(n / c)``: more samples in
# a cluster need a few more neighbors to hang together. `AFCM.prepare` stops after this step and
# shows the graph. Near samples get heavy edges and far ones light edges, relative to what is
# usual around them, so no length has to be chosen.

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
# 3. Edges that mislead fade
# --------------------------
# Real data have samples between the clusters, and edges over them join what does not belong
# together. Here we add 60 stray samples to see it (left). Two things make such bridges weak
# (right). A sample that is lonelier than its surroundings hardly counts: its *mass* in the
# graph is small. And edges whose two ends lie apart in the *whole* graph fade; this is called
# *sharpening*.

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
# Now each sample gets new coordinates, so that samples joined by heavy edges come close
# together. These are the leading eigenvectors of the graph; spectral clustering uses them, too.
# In the new coordinates (`embedding_`) each spiral is a small heap: `AFCM` finds the heaps with
# fuzzy c-means **while** it learns the coordinates, so that each helps the other.

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
# Classical fuzzy c-means has a *fuzzifier* that somebody must choose: near 1 all memberships
# are 0 or 1, large ones make them all alike. The paper's idea is to learn it. γ is that learned
# number: ``membership ∝ exp(−γ · squared distance)``. Where clusters are tight γ becomes large
# and memberships sharp; where they are wide γ becomes small.
#
# Without the graph this is exact statistics: ``1 / (2 γ)`` is the variance of the clusters.

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
# In the embedding of a graph, though, γ has no such limit: clusters that the graph separates
# lie on top of each other there, and γ grows until the paper's own memberships are 0 or 1 even
# where two clusters overlap. So `AFCM` reports something else.
#
# 6. Memberships that mean something
# ----------------------------------
# After the clusters are found, AFCM fits small Gaussians inside them, among the samples and not
# in the embedding, and asks: how probable is each cluster, given where this sample lies? That
# is `memberships_`. Where clusters do not touch, it is 0 or 1, and that is the answer. Where
# they meet, it is soft.

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
# Memberships say *which* cluster. Whether a sample belongs to any, `outlier_scores_` say: the
# probability of being background. Here are the spirals with the stray samples again.

plots.OutliersDisplay.from_estimator(model, X)
print(f"estimated share of background: {model.noise_share_:.0%} (true: {60 / 660:.0%})")

# %%
# In short
# --------
# * **When to use it:** clusters of any shape, some noise, and you want probabilities, labels
#   for new samples, or the number of clusters. Mostly there is nothing to tune.
# * **When not:** your clusters are balls and there are very many samples (`KMeans` is faster),
#   or you want the density of the data itself (`GaussianMixture`). Labels alone you can often
#   have from spectral clustering on the same graph: the gain in labels comes from the graph,
#   not from the fuzzy part.
# * **What it cannot do:** clusters that overlap so far that they are one heap. Then
#   `AFCM("auto")` says "one cluster".
#
# Next: :doc:`comparing`, or :doc:`/memberships`.
