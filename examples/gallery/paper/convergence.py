"""
The paper's convergence figure
==============================

The paper shows that J falls with each sweep, and that accuracy settles early. Here it is for
Iris in the paper's own configuration (`AFCM.paper`: Gaussian kernel, random start). The one for
all its data sets: ``afcm reproduce``, in :doc:`/reproduction/report`.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.preprocessing import minmax_scale

from afcm import AFCM, plots
from afcm.exceptions import AFCMWarning
from afcm.metrics import clustering_accuracy

iris = load_iris()
X = minmax_scale(iris.data)
accuracies = []


def watch(iteration):
    """Called after each sweep."""
    accuracies.append(
        clustering_accuracy(iris.target, iteration.state.memberships.argmax(axis=1))
    )


with warnings.catch_warnings():
    warnings.simplefilter("ignore", AFCMWarning)  # the paper's memberships become hard
    model = AFCM.paper(3, n_neighbors=5, graph_weight=1e3, random_state=0, callback=watch).fit(
        X
    )

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.plot(range(1, model.n_iter_ + 1), model.history_["objective"], color="#0072B2")
left.set(xlabel="sweep", ylabel="J", title="the objective never rises")
right.plot(range(1, len(accuracies) + 1), accuracies, color="#D55E00")
right.set(xlabel="sweep", ylabel="share in the right cluster", ylim=(0, 1.02))

# %%
# J goes on falling because γ grows: J has no lower bound, which the paper does not say. γ is
# capped here.
plots.ConvergenceDisplay.from_estimator(model)
plt.show()
