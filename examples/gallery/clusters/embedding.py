"""
The embedding, a picture of your data
=====================================

`AFCM` is a transformer, too: ``embedding_`` has one column for each cluster, and ``transform``
gives rows for new samples. It comes from the graph, so it shows clusters well, but not the
distances within them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

from afcm import AFCM, plots

iris = load_iris()
model = AFCM(3, random_state=0).fit(iris.data)
print(model.embedding_.shape, model.transform(iris.data[:2]).shape)

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
plots.EmbeddingDisplay.from_estimator(model, ax=axes[0])
positions = PCA(2, random_state=0).fit_transform(iris.data)
plots.EmbeddingDisplay(positions, model.memberships_, axis_names=("PC 1", "PC 2")).plot(
    ax=axes[1]
)

# %%
# Left: in the embedding each cluster is a compact heap. Samples are jittered, because many lie
# on one point. Right: the same memberships, drawn on two principal components; you can use any
# other positions, for instance those of UMAP. Colors are mixed by membership, so a pale, mixed
# color is a flower between two clusters.
