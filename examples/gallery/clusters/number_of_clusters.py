"""
How many clusters?
==================

`select_n_clusters` compares a range of numbers by six criteria, and gives one recommendation
with a reason. The recommendation comes from gaps (*valleys*) in the neighbor graph, and not
from a vote of the criteria.
"""

import textwrap
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from afcm import AFCM, select_n_clusters
from afcm.exceptions import NoClustersWarning

X, _ = make_blobs(400, centers=4, cluster_std=0.8, random_state=3)
selection = select_n_clusters(X, range(1, 8), random_state=0)
print(textwrap.fill(selection.reason, 90))
print(selection)

# %%
# A picture of the same table.
selection.plot()

# %%
# ``AFCM("auto")`` counts in the same way and goes on to fit. ``n_clusters_range_`` says how
# sure it is of the number.
model = AFCM("auto", random_state=0).fit(X)
print(model.n_clusters_, model.n_clusters_range_)

# %%
# Data without clusters
# ---------------------
# Many criteria cannot answer "one cluster". This one can, and it warns, so that you notice.
cloud = np.random.default_rng(0).normal(size=(400, 2))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always", NoClustersWarning)
    lonely = AFCM("auto", random_state=0).fit(cloud)
print(lonely.n_clusters_, "cluster")
print(textwrap.fill(str(said[0].message), 90))

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for ax, points, fitted in zip(axes, (X, cloud), (model, lonely), strict=True):
    ax.scatter(*points.T, s=8, color=[f"C{label}" for label in fitted.labels_])
    ax.set_title(f"counted: {fitted.n_clusters_}")
