"""
Handwritten digits, and samples that come later
===============================================

There are 1797 pictures of 8 × 8 pixels. We cluster half of them, and place the others
afterwards with ``predict``, without fitting again. The fit uses no labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from afcm import AFCM
from afcm.metrics import clustering_accuracy

X, y = load_digits(return_X_y=True)
X_now, X_later, y_now, y_later = train_test_split(X, y, train_size=0.5, random_state=0)

model = AFCM(10, random_state=0).fit(X_now)
print(f"fitted samples: {clustering_accuracy(y_now, model.labels_):.1%} in the right cluster")
print(f"later samples:  {clustering_accuracy(y_later, model.predict(X_later)):.1%}")

# %%
# The mean picture of each cluster
# --------------------------------
figure, axes = plt.subplots(2, 5, figsize=(7, 3.2), layout="constrained")
for cluster, ax in enumerate(axes.flat):
    members = X_now[model.labels_ == cluster]
    ax.imshow(members.mean(axis=0).reshape(8, 8), cmap="gray_r")
    ax.set(title=f"{len(members)} pictures", xticks=[], yticks=[])

# %%
# Some clusters may mix two digits, and some digits may have two clusters: a clustering does not
# know what a digit is, only which pictures look alike.
#
# The pictures it is least sure of
# --------------------------------
doubtful = np.argsort(model.predict_proba(X_later).max(axis=1))[:10]
figure, axes = plt.subplots(1, 10, figsize=(9, 1.4), layout="constrained")
for i, ax in zip(doubtful, axes, strict=True):
    ax.imshow(X_later[i].reshape(8, 8), cmap="gray_r")
    ax.set(title=f"a {y_later[i]}", xticks=[], yticks=[])
