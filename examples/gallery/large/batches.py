"""
Batch by batch
==============

`PlainAFCM`, `FCM` and `EntropyFCM` learn from a stream with ``partial_fit``: each batch is seen
once, and older ones fade slowly.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from afcm import PlainAFCM

centers = np.array([[-3, 0], [3, 0], [0, 4]])
stream = PlainAFCM(3, random_state=0)
path = []
for batch in range(40):
    X, _ = make_blobs(100, centers=centers, random_state=batch)
    stream.partial_fit(X)
    path.append(stream.cluster_centers_.copy())

everything = np.vstack(
    [make_blobs(100, centers=centers, random_state=batch)[0] for batch in range(40)]
)
whole = PlainAFCM(3, random_state=0).fit(everything)
nearest = np.linalg.norm(stream.cluster_centers_[:, None] - whole.cluster_centers_, axis=2).min(
    axis=1
)
print(f"after {stream.n_batches_} batches the centers are {nearest.max():.3f}", end=" ")
print("from those of a fit on everything")
print(f"γ: {stream.gamma_:.3f} in batches, {whole.gamma_:.3f} at once, {0.5:.3f} true")

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.scatter(*everything.T, s=2, color="0.8")
for line in np.transpose(path, (1, 2, 0)):
    ax.plot(*line, color="#0072B2")
ax.scatter(*stream.cluster_centers_.T, marker="x", s=90, color="#B00020")
ax.set_title("the way of the centers")
