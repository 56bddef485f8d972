"""
Beside a mixture of Gaussians
=============================

If clusters are Gaussian, a Gaussian mixture is the right model, and AFCM should agree with it.
If they are bent, the mixture is wrong, and so are its probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.mixture import GaussianMixture

from afcm import AFCM
from afcm.metrics import clustering_accuracy

rng = np.random.default_rng(0)
blobs = rng.normal(size=(600, 2)) @ [[1, 0.4], [0, 0.7]] + np.repeat(
    [[0, 0], [3.2, 0]], 300, axis=0
)
sets = {
    "Gaussians": (blobs, np.repeat([0, 1], 300)),
    "moons": make_moons(600, noise=0.1, random_state=0),
}

figure, axes = plt.subplots(2, 2, figsize=(8, 6.4), layout="constrained")
for row, (name, (X, y)) in zip(axes, sets.items(), strict=True):
    model = AFCM(2, random_state=0).fit(X)
    mixture = GaussianMixture(2, random_state=0).fit(X)
    shown = {"AFCM": model.memberships_, "GaussianMixture": mixture.predict_proba(X)}
    for ax, (method, memberships) in zip(row, shown.items(), strict=True):
        share = clustering_accuracy(y, memberships.argmax(axis=1))
        points = ax.scatter(*X.T, s=8, c=memberships[:, 0], cmap="cividis", vmin=0, vmax=1)
        ax.set_title(f"{name}, {method}: {share:.0%} right")
figure.colorbar(points, ax=axes, label="membership in cluster 0", shrink=0.6)

# %%
# How far are the two apart where both are right?
model, mixture = (
    AFCM(2, random_state=0).fit(blobs),
    GaussianMixture(2, random_state=0).fit(blobs),
)
ours, theirs = model.memberships_[:, 0], mixture.predict_proba(blobs)
difference = min(np.abs(ours - theirs[:, j]).mean() for j in (0, 1))
print(f"mean difference of the memberships on the Gaussians: {difference:.3f}")
