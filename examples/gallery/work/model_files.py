"""
Save a model, load a model
==========================

A model file is a zip of numbers and text. It holds no code: reading one that a stranger gave
you runs nothing. Labels, memberships and predictions come back bit by bit.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from afcm import PlainAFCM, load_model, plots, read_info, save_model

X = load_iris().data
model = make_pipeline(StandardScaler(), PlainAFCM(3, random_state=0)).fit(X)

path = Path(tempfile.mkdtemp()) / "iris.afcm"
save_model(model, path, info={"data": "Iris, standardized"})
print(f"{path.name}: {path.stat().st_size} bytes")

# %%
again = load_model(path)
print("the same memberships:", np.array_equal(again.predict_proba(X), model.predict_proba(X)))

# %%
# What is in it, without loading an array:
info = read_info(path)
print(info.info)
for name, value in info.fitted.items():
    print(f"{name}: {value}")

# %%
plots.MembershipDisplay.from_estimator(again)
plt.show()
