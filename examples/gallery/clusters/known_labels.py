"""
A few known labels
==================

If you know the class of a few samples, give these to ``fit``, with −1 for all others. The known
samples keep their class, and the others follow along the graph. The clusters then have the
numbers (or names) of your labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from afcm import AFCM
from afcm.metrics import clustering_accuracy

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))


def reveal(per_class):
    """The labels of so many pictures of each digit; −1 for all others."""
    known = np.full(len(y), -1)
    for digit in range(10):
        chosen = order[y[order] == digit][:per_class]
        known[chosen] = digit
    return known


# %%
# Shares of right labels among the pictures whose label was *not* given.
numbers, shares = (0, 1, 2, 5, 10), []
for per_class in numbers:
    known = reveal(per_class)
    hidden = known < 0
    model = AFCM(10, random_state=0).fit(X, known)
    shares.append(clustering_accuracy(y[hidden], model.labels_[hidden]))
    print(f"{per_class:>2} of each digit known: {shares[-1]:.1%} of the others right")

figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained", width_ratios=[1, 1.6])
axes[0].plot(numbers, shares, marker="o")
axes[0].set(xlabel="known labels of each digit", ylabel="others in the right cluster")

# The pictures that the last model doubts most, side by side.
doubt = np.argsort(model.memberships_.max(axis=1))[:10]
axes[1].imshow(np.hstack(X[doubt].reshape(-1, 8, 8)), cmap="gray_r")
axes[1].set(
    xticks=8 * np.arange(10) + 3.5,
    yticks=[],
    title="in doubt: the model's label (the true one)",
)
axes[1].set_xticklabels([f"{model.labels_[i]} ({y[i]})" for i in doubt])
plt.show()

# %%
# Labels may be names, too. Here two digits are named and the other clusters stay without a
# name.
names = np.full(len(y), None)
names[order[y[order] == 0][:3]] = "zero"
names[order[y[order] == 6][:3]] = "six"
print(AFCM(10, random_state=0).fit(X, names).cluster_names_.tolist())

# %%
# More labels are not always better: a known sample that lies in another cluster can give that
# cluster the wrong name. Measurements, and where it gets worse, are in :doc:`/known-labels`.
