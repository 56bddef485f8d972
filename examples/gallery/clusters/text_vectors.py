"""
Text: the angle between vectors
===============================

Vectors of texts (TF-IDF, or those of a language model) are compared by their angle. Rows of
length 1 make it so: then ``|a − b|² = 2 − 2 cos``, and the nearest neighbors by distance are
those by angle. scikit-learn's `Normalizer` does it.

No text travels with this package, so the documents are drawn here: 300 of them, three topics
with words of their own and many words in common, of very different length.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline

from afcm import AFCM, plots
from afcm.metrics import clustering_accuracy

rng = np.random.default_rng(0)
n_words, topics = 400, rng.integers(3, size=300)
popularity = rng.dirichlet(np.full(n_words, 0.3))
own = np.array([np.where(np.arange(n_words) % 3 == topic, 3.0, 1.0) for topic in range(3)])
lengths = rng.integers(30, 1000, size=300)
shares = popularity * own / (own @ popularity)[:, None]
counts = np.array(
    [
        rng.multinomial(length, shares[topic])
        for length, topic in zip(lengths, topics, strict=True)
    ]
)

raw = AFCM(3, random_state=0).fit(counts)
model = make_pipeline(TfidfTransformer(norm="l2"), AFCM(3, random_state=0)).fit(counts)
print(f"counts as they are:   {clustering_accuracy(topics, raw.labels_):.0%} right")
print(f"TF-IDF, unit length:  {clustering_accuracy(topics, model[-1].labels_):.0%} right")

# %%
# TF-IDF gives a sparse matrix, which AFCM takes as it is. Counts as they are fail because long
# documents lie far from short ones, whatever they are about.
plots.EmbeddingDisplay.from_estimator(model[-1])
plt.show()
