"""
Memberships against the truth
=============================

Two Gaussians overlap, so we can compute the true probability that a sample comes from the left
one. A good membership is close to it. We compare `memberships_` of AFCM, the paper's own
memberships and classical fuzzy c-means.
"""

import matplotlib.pyplot as plt
import numpy as np

from afcm import AFCM, FCM

rng = np.random.default_rng(0)
distance, n = 3.0, 1000
side = rng.integers(2, size=n)
X = rng.normal(size=(n, 2)) + np.c_[distance * side, np.zeros(n)]
truth = 1 / (1 + np.exp(-distance * (X[:, 0] - distance / 2)))


def orient(memberships):
    """The column of the right-hand cluster."""
    return memberships[
        :, np.argmax([np.corrcoef(column, truth)[0, 1] for column in memberships.T])
    ]


model = AFCM(2, random_state=0).fit(X)
given = {
    "AFCM: memberships_": orient(model.memberships_),
    "AFCM: paper_memberships_": orient(model.paper_memberships_),
    "FCM, m = 2": orient(FCM(2, random_state=0).fit(X).memberships_),
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained", sharey=True)
for ax, (name, values) in zip(axes, given.items(), strict=True):
    ax.plot([0, 1], [0, 1], color="0.5", linewidth=1)
    ax.scatter(truth, values, s=5, color="#0072B2")
    ax.set(
        title=f"{name}\nmean error {np.abs(values - truth).mean():.3f}",
        xlabel="true probability",
    )
axes[0].set_ylabel("membership")

# %%
# On the gray line membership and truth agree. The paper's memberships are steps: in the
# embedding γ grows until they are 0 or 1. Those of fuzzy c-means depend on its fuzzifier m,
# which the data do not tell. What each estimator's memberships mean: :doc:`/memberships`.
