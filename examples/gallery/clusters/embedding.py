"""
The embedding, a picture of your data
=====================================

`AFCM` is a transformer, too: ``embedding_`` has one column for each cluster, and new samples
get rows by ``transform``. It is what the graph knows, so it shows clusters and not distances
within them.
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
# Left: in the embedding each species is a heap; samples are jittered, because many lie on one
# point. Right: the same memberships on two principal components. Any other positions will do,
# for instance those of UMAP. Colors are mixed by membership: a pale, mixed color is a flower
# between two clusters.
