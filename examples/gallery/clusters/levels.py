"""
Fewer or more clusters from one fit
===================================

One fit gives a tree over its clusters: ``levels_`` tells which are joined when fewer are
wanted, and ``at`` gives a fitted model of a level. Clusters can also be joined and split by
hand; labels, memberships and predictions follow.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from afcm import AFCM, plots

middles = np.array([[0, 0], [4, 0], [2, 3.5], [14, 0], [18, 1], [4, 14], [9, 14], [14, 15]])
X, _ = make_blobs(800, centers=middles, random_state=0)
model = AFCM(8, random_state=0).fit(X)
print(model.levels_)

# %%
# The tree has a line at every join, with the cut between the two clusters. A cut of 0 means
# that no edge leads from one to the other: so it is for the last three clusters.
plots.LevelsDisplay.from_estimator(model, n_clusters=3)
plt.show()

# %%
# Each level gives a fitted model of its own, without another fit: the memberships of joined
# clusters are added up.
coarse = model.at(3)
split = coarse.split(int(coarse.labels_[X[:, 1].argmax()]), into=3)
merged = model.merge(model.levels_[0].joined[0] + model.levels_[0].joined[1])

figure, axes = plt.subplots(
    2, 2, figsize=(8, 7), layout="constrained", sharex=True, sharey=True
)
titles = {
    "the fit, 8 clusters": model,
    "at(3)": coarse,
    "one of them split in 3": split,
    "two merged by hand": merged,
}
for ax, (title, shown) in zip(axes.flat, titles.items(), strict=True):
    ax.scatter(*X.T, s=8, c=shown.labels_, cmap="tab10", vmax=9)
    ax.set(title=title, aspect="equal")
plt.show()

# %%
# New samples are placed in the new clusters. The model before stays as it was.
print("a new sample at (3, 14):", coarse.predict([[3.0, 14.0]]), split.predict([[3.0, 14.0]]))
print("clusters:", model.n_clusters_, coarse.n_clusters_, split.n_clusters_, merged.n_clusters_)
