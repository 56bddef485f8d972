"""
Scaling in a pipeline
=====================

AFCM measures distances, so a column with large numbers outweighs all others. Wine has such a column (proline, in the
hundreds). A `Pipeline` with a scaler is the cure; the model at its end works as alone.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from afcm import AFCM, plots
from afcm.metrics import clustering_accuracy

wine = load_wine(as_frame=True)
raw = AFCM(3, random_state=0).fit(wine.data)
scaled = make_pipeline(MinMaxScaler(), AFCM(3, random_state=0)).fit(wine.data)
for name, labels in {"raw": raw.labels_, "scaled": scaled[-1].labels_}.items():
    print(f"{name:>6}: {clustering_accuracy(wine.target, labels):.1%} in the right cultivar")

# %%
# What is special about each cluster, in the units of the table:
plots.ProfilesDisplay.from_estimator(scaled, wine.data)
plt.show()

# %%
# ``predict`` and ``predict_proba`` of the pipeline scale new rows first.
print(scaled.predict_proba(wine.data[:3]).round(2))
