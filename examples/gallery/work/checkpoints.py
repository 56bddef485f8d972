"""
A fit that is stopped and goes on
=================================

A long fit writes down where it is. If the process dies, run the same lines again: the fit goes
on, and the result is the same, to the last bit. Here a callback plays the role of the power
cut.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from afcm import PlainAFCM
from afcm.checkpoints import Checkpoint

X, _ = make_blobs(2000, centers=12, cluster_std=2.0, random_state=0)
path = Path(tempfile.mkdtemp()) / "fit.ckpt"


class PowerCut(Exception):
    """Stands for whatever ends a process."""


def cut_power(iteration):
    if iteration.index == 20:
        raise PowerCut


try:
    PlainAFCM(
        12, n_init=1, random_state=0, callback=Checkpoint(path, every=5, callback=cut_power)
    ).fit(X)
except PowerCut:
    print(f"stopped; {path.name} has {path.stat().st_size} bytes")

# %%
sweeps = []
checkpoint = Checkpoint(path, every=5, callback=sweeps.append)
continued = PlainAFCM(12, n_init=1, random_state=0, callback=checkpoint).fit(X)
straight = PlainAFCM(12, n_init=1, random_state=0).fit(X)
print(f"{len(sweeps)} sweeps after the stop, {straight.n_iter_} in all")
print(
    "the same to the last bit:", np.array_equal(continued.memberships_, straight.memberships_)
)

# %%
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(straight.history_["objective"], color="#0072B2")
ax.axvline(straight.n_iter_ - len(sweeps), color="#B00020", linestyle="--")
ax.set(xlabel="sweep", ylabel="J", title="the fit went on at the dashed line")
