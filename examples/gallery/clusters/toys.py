"""
Clusters of any shape
=====================

Spirals and rings have no centers that could tell them apart. `AFCM` needs the number of
clusters and nothing else.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans

from afcm import AFCM
from afcm.datasets import make_rings, make_spirals
from afcm.metrics import clustering_accuracy

toys = {
    "spirals": (make_spirals(600, random_state=0), 2),
    "rings": (make_rings(600, random_state=0), 3),
}
figure, axes = plt.subplots(2, 2, figsize=(7, 7), layout="constrained")
for row, (name, ((X, y), n_clusters)) in zip(axes, toys.items(), strict=True):
    models = {
        "KMeans": KMeans(n_clusters, n_init=10, random_state=0),
        "AFCM": AFCM(n_clusters, random_state=0),
    }
    for ax, (method, model) in zip(row, models.items(), strict=True):
        labels = model.fit_predict(X)
        ax.scatter(*X.T, s=8, color=[f"C{label}" for label in labels])
        ax.set(
            title=f"{name}, {method}: {clustering_accuracy(y, labels):.0%} right",
            aspect="equal",
        )

# %%
# k-means cuts straight through. AFCM follows the neighbors: see :doc:`/guide/how_it_works`.
