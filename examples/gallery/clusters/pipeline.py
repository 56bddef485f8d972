"""
Scaling in a pipeline
=====================

AFCM measures distances, so a column with large numbers outweighs all others. The wine data have
such a column (proline, in the hundreds), and AFCM warns about it. The cure is a `Pipeline` with
a scaler in front.
"""

import textwrap
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
print(textwrap.fill(str(said[0].message), 90))

# %%
# `TableScaler` gives every column an equal say. It takes categories, dates and missing values,
# too; if all columns are numbers, scikit-learn's scalers will do.
scaled = make_pipeline(TableScaler(), AFCM(3, random_state=0)).fit(wine.data)
for name, labels in {"raw": raw.labels_, "scaled": scaled[-1].labels_}.items():
    print(f"{name:>6}: {clustering_accuracy(wine.target, labels):.1%} in the right cultivar")

# %%
# This is what is special about each cluster:
plots.ProfilesDisplay.from_estimator(scaled, wine.data)
plt.show()

# %%
# ``predict`` and ``predict_proba`` of the pipeline scale new rows first.
print(scaled.predict_proba(wine.data[:3]).round(2))
