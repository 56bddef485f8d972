"""
Dask arrays: more rows than memory
==================================

`PlainAFCM`, `FCM`, `EntropyFCM` and ``AFCM(graph="anchors")`` take Dask arrays and data frames,
and never gather them. Labels come back lazy, with the chunks of X. A whole cluster of workers
with checkpoints is in `examples/dask_cluster.py`.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from afcm import AFCM, PlainAFCM

try:
    import dask.array as da
except ImportError:
    sys.exit("this example needs afcm[dask]")

rng = np.random.default_rng(0)
blobs = [rng.normal(size=(4000, 2)) + center for center in ([0, 0], [6, 0], [3, 5])]
X = da.concatenate([da.from_array(blob, chunks=(1000, 2)) for blob in blobs])
print(X)

plain = PlainAFCM(3, random_state=0).fit(X)
graph = AFCM(3, graph="anchors", n_anchors=200, random_state=0).fit(X)
print(plain.labels_)

# %%
# Nothing of the labels is worked out until somebody asks.
sizes = [np.bincount(model.labels_.compute()) for model in (plain, graph)]
print("sizes of the clusters:", *(np.sort(size) for size in sizes))

figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained", sharey=True)
for ax, model in zip(axes, (plain, graph), strict=True):
    ax.scatter(
        *X[::20].compute().T,
        s=5,
        color=[f"C{label}" for label in model.labels_[::20].compute()],
    )
    ax.set_title(type(model).__name__)

# %%
# The same numbers as in memory, whatever the chunks:
in_memory = PlainAFCM(3, random_state=0).fit(X.compute())
print(f"γ in chunks {plain.gamma_:.10f}, in memory {in_memory.gamma_:.10f}")
