"""
Sample weights
==============

A sample of weight 2 counts as if it were there twice, and one of weight 0 as if it were not
there. This is meant literally: clusters, γ and graph are the same as with copies.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from afcm import AFCM, PlainAFCM
from afcm.metrics import adjusted_rand

X, _ = make_blobs(300, centers=[(0, 0), (4, 0)], random_state=0)
weights = np.random.default_rng(0).integers(0, 4, size=300)
repeated = np.repeat(X, weights, axis=0)

for estimator in (PlainAFCM(2, random_state=0), AFCM(2, random_state=0)):
    weighted = estimator.fit(X, sample_weight=weights).predict(X)
    copied = estimator.fit(repeated).predict(X)
    print(f"{type(estimator).__name__}: agreement {adjusted_rand(weighted, copied):.2f}")

# %%
# Weights are useful for a survey in which some people stand for many. Here the samples on the
# right count 20 times.
heavy = np.where(X[:, 0] > 4, 20.0, 1.0)
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
for ax, (name, given) in zip(
    axes, {"all alike": None, "right side heavy": heavy}.items(), strict=True
):
    model = PlainAFCM(2, random_state=0).fit(X, sample_weight=given)
    ax.scatter(
        *X.T, s=6 if given is None else given * 2, c=model.labels_, cmap="cividis", alpha=0.6
    )
    ax.scatter(*model.cluster_centers_.T, marker="x", s=150, color="#B00020")
    ax.set_title(f"{name}: centers at x = {np.sort(model.cluster_centers_[:, 0]).round(1)}")
