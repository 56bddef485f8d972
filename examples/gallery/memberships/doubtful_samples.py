"""
Which samples should a person look at?
======================================

The ambiguity of a sample is 0 if there is no doubt about its cluster, and 1 if its two best
clusters are tied. From 0.5 on we call the sample ambiguous.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from afcm import AFCM, plots
from afcm.metrics.ambiguity import ambiguity

iris = load_iris(as_frame=True)
model = AFCM(3, random_state=0).fit(iris.data)

plots.AmbiguityDisplay.from_estimator(model)
plt.show()

# %%
# The five flowers with the largest ambiguity. They lie between versicolor and virginica, whose
# petals overlap.
doubt = ambiguity(model.memberships_)
first = doubt.argsort()[::-1][:5]
species = iris.target_names[iris.target[first]]
print(
    iris.data.iloc[first].assign(species=species, ambiguity=doubt[first]).round(2).to_string()
)

# %%
# In the next picture each band is a cluster, with its samples from sure to doubtful.
plots.BandsDisplay.from_estimator(model)
plt.show()
