"""
Text: the angle between vectors
===============================

Vectors of texts (TF-IDF, or those of a language model) should be compared by their angle:
``AFCM(metric="cosine")`` does it. It scales each row to length 1, and then
``|a − b|² = 2 − 2 cos``, so that the nearest neighbors by distance are those by angle.

No texts come with this package, so we draw 300 documents of very different length. They have
three topics, each with words of its own and many words that all topics share.
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
model = make_pipeline(TfidfTransformer(), AFCM(3, metric="cosine", random_state=0)).fit(counts)
print(f"counts as they are:  {clustering_accuracy(topics, raw.labels_):.0%} right")
print(f"TF-IDF and cosine:   {clustering_accuracy(topics, model[-1].labels_):.0%} right")

# %%
# TF-IDF gives a sparse matrix, which AFCM takes as it is. Counts as they are fail because long
# documents lie far from short ones, whatever they are about.
plots.EmbeddingDisplay.from_estimator(model[-1])
plt.show()
