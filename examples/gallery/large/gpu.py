"""
On a GPU
========

Tensors are worked on where they are and give tensors; ``device="cuda"`` takes NumPy arrays
there and back. The formulas are the same ones. Without PyTorch or without a GPU this page says
so and goes on with what there is.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA

from afcm import AFCM

try:
    import torch
except ImportError:
    torch, reason = None, "PyTorch is not installed (pip install 'afcm[gpu]')"
else:
    reason = "" if torch.cuda.is_available() else "PyTorch sees no GPU here"

X, y = make_blobs(5_000, n_features=16, centers=10, random_state=0)
devices = {"CPU": None} if reason else {"CPU": None, "GPU": "cuda"}
print(f"skipped on the GPU: {reason}" if reason else f"on {torch.cuda.get_device_name()}")

seconds, labels = {}, {}
for name, device in devices.items():
    model = AFCM(10, device=device, random_state=0).fit(X)  # the first fit compiles kernels
    began = time.perf_counter()
    labels[name] = model.fit(X).labels_
    seconds[name] = time.perf_counter() - began
print({name: f"{took:.2f} s" for name, took in seconds.items()})
print(
    "the same labels:", all(np.array_equal(labels["CPU"], other) for other in labels.values())
)

# %%
# Left: the clusters, on two of their principal components. Right: the time of a fit. So few
# rows are no work for a GPU; times of a million rows are in :doc:`Performance </performance>`.
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
left.scatter(*PCA(2).fit_transform(X).T, s=3, c=labels["CPU"], cmap="tab10")
left.set(xticks=[], yticks=[])
right.bar(list(seconds), list(seconds.values()), color="#0072B2", width=0.4)
right.set(ylabel="seconds for 5,000 rows", xlim=(-0.8, len(seconds) - 0.2))
