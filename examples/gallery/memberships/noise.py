"""
Noise and outliers
==================

A sixth of these samples belongs to no cluster. `AFCM` finds the moons nevertheless, and
``outlier_scores_`` point out the strays: a score is the estimated probability that a sample is
background.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import roc_auc_score

from afcm import AFCM, plots
from afcm.metrics import clustering_accuracy

moons, y = make_moons(500, noise=0.05, random_state=0)
haze = np.random.default_rng(0).uniform([-2, -1.5], [3, 2], size=(100, 2))
X = np.vstack([moons, haze])
stray = np.arange(600) >= 500

model = AFCM(2, random_state=0).fit(X)
print(f"moons in the right cluster: {clustering_accuracy(y, model.labels_[:500]):.1%}")
print(f"share of background: true {stray.mean():.0%}, estimated {model.noise_share_:.0%}")
area = roc_auc_score(stray, model.outlier_scores_)
print(f"strays told from moons (area under the curve): {area:.3f}")

plots.OutliersDisplay.from_estimator(model, X)
plt.show()

# %%
# Every sample keeps its label and its memberships; nothing is dropped. To drop the strays
# yourself:
clean = X[model.outlier_scores_ < 0.5]
print(f"{len(clean)} of {len(X)} samples kept")

# %%
# New samples are scored, too. The first lies on a moon, the second nowhere.
print(model.outlier_scores([[0.0, 1.0], [2.5, -1.0]]).round(3))

# %%
# Where this fails (heavy tails, strays that sit together) is said in :doc:`/noise`.
