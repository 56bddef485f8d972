"""
Many rows: the anchor graph
===========================

``graph="anchors"`` lets a thousand anchors stand for all samples. Time and memory then grow in
proportion to the samples; a million rows take some ten seconds on two cores
(``make bench NAME=anchors``). Here it is 60,000, so that this page is built quickly.
"""

import time

import matplotlib.pyplot as plt

from afcm import AFCM
from afcm.datasets import make_rings
from afcm.metrics import clustering_accuracy

seconds, sizes = [], (3_000, 15_000, 60_000)
few = make_rings(1000, random_state=0)[0]
AFCM(3, graph="anchors", random_state=0).fit(few)  # compiles, if Numba is there
for size in sizes:
    X, y = make_rings(size, random_state=0)
    began = time.perf_counter()
    model = AFCM(3, graph="anchors", random_state=0).fit(X)
    seconds.append(time.perf_counter() - began)
    share = clustering_accuracy(y, model.labels_)
    print(f"{size:>6} rows: {seconds[-1]:.1f} s, {share:.1%} right")

# %%
# The anchors lie on the rings, and each sample belongs to some of them.
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
axes[0].plot(sizes, seconds, marker="o")
axes[0].set(xlabel="rows", ylabel="seconds on this machine", ylim=(0, None))
axes[1].scatter(
    *X[::20].T, s=2, color=[f"C{label}" for label in model.labels_[::20]], alpha=0.5
)
axes[1].scatter(*model.anchors_.T, s=4, color="#B00020")
axes[1].set(title=f"{model.n_anchors_} anchors (red)", aspect="equal")
