"""
Scaling in a pipeline
=====================

AFCM measures distances, so a column with large numbers outweighs all others. Wine has such a
column (proline, in the hundreds), and AFCM warns of it. A `Pipeline` with a scaler is the cure;
the model at its end works as alone.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline

from afcm import AFCM, plots
from afcm.exceptions import ScaleWarning
from afcm.metrics import clustering_accuracy
from afcm.tables import TableScaler

wine = load_wine(as_frame=True)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always", ScaleWarning)
    raw = AFCM(3, random_state=0).fit(wine.data)
print(said[0].message)

# %%
# `TableScaler` gives every column its say. It takes categories, dates and missing values, too;
# for columns of numbers scikit-learn's scalers will do.
scaled = make_pipeline(TableScaler(), AFCM(3, random_state=0)).fit(wine.data)
for name, labels in {"raw": raw.labels_, "scaled": scaled[-1].labels_}.items():
    print(f"{name:>6}: {clustering_accuracy(wine.target, labels):.1%} in the right cultivar")

# %%
# What is special about each cluster, in the units of the table:
plots.ProfilesDisplay.from_estimator(scaled, wine.data)
plt.show()

# %%
# ``predict`` and ``predict_proba`` of the pipeline scale new rows first.
print(scaled.predict_proba(wine.data[:3]).round(2))
