"""
A fuzzifier that is learned
===========================

Classical fuzzy c-means asks for an exponent m, and the memberships are what m says.
`PlainAFCM`, the paper's second algorithm, learns γ from the data instead: it is a mixture of
Gaussian balls, and ``1 / (2 γ)`` is their variance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from afcm import FCM, PlainAFCM

spreads = np.linspace(0.4, 1.6, 7)
shown = {
    "true": [],
    "PlainAFCM, γ learned": [],
    "FCM, m = 1.5": [],
    "FCM, m = 2": [],
    "FCM, m = 3": [],
}
for spread in spreads:
    X, _ = make_blobs(600, centers=[(-2, 0), (2, 0)], cluster_std=spread, random_state=0)
    truth = 1 / (1 + np.exp(-4 * X[:, 0] / spread**2))
    models = [PlainAFCM(2, random_state=0), *(FCM(2, m=m, random_state=0) for m in (1.5, 2, 3))]
    memberships = [np.c_[truth, 1 - truth], *(model.fit(X).memberships_ for model in models)]
    for values, given in zip(shown.values(), memberships, strict=True):
        values.append(given.max(axis=1).mean())

figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for (name, values), style in zip(shown.items(), ("k-", "o-", "s--", "^--", "v--"), strict=True):
    ax.plot(spreads, values, style, label=name, markersize=5)
ax.set(xlabel="spread of the two blobs", ylabel="mean of the largest membership")
ax.legend()

# %%
# The learned fuzziness follows the truth. A fixed m can be right for one spread at best.
