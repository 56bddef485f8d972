"""Fitted models of every kind that a file can hold, each made once."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from afcm import AFCM, FCM, EntropyFCM, GeneralizedGaussianMixture, PlainAFCM
from afcm.baselines import CDKM, FCAG, FKPS, RSFKM, SpectralBaseline
from afcm.tables import TableScaler

NAMES = ["length", "width", "höhe"]


def samples(n=60, columns=3, seed=0):
    """Three blobs, some rows twice."""
    random = np.random.RandomState(seed)
    X = random.standard_normal((n, columns)) + 6 * random.randint(3, size=(n, 1))
    return np.concatenate([X, X[:4]])


def similarities(X):
    """Of every sample to every other."""
    return np.exp(-((X[:, None] - samples()[None]) ** 2).sum(axis=2) / 20)


X, NEW = samples(), samples(seed=1)
WEIGHTS = np.arange(len(X)) % 3.0
TABLE = pd.DataFrame(X, columns=NAMES)
MIXED = TABLE.assign(plan=np.where(X[:, 0] > 3, "paid", "free"), name=[f"row {i}" for i in range(len(X))], unit="cm")
HOLES = TABLE.mask(np.random.RandomState(0).rand(*X.shape) < 0.1)

# Name → how it is made, and the new samples it can place (None: it cannot).
RECIPES = {
    "AFCM": (lambda: AFCM(3).fit(X), NEW),
    "AFCM distinct": (lambda: AFCM(3).fit(X[:-4]), NEW),
    "AFCM weights": (lambda: AFCM(3).fit(X, sample_weight=WEIGHTS + 1), NEW),
    "AFCM absent": (lambda: AFCM(3).fit(X, sample_weight=WEIGHTS), NEW),
    "AFCM auto": (lambda: AFCM("auto").fit(X), NEW),
    "AFCM gaussian": (lambda: AFCM(3, kernel="gaussian", n_neighbors=7, graph_weight=1e3).fit(X), NEW),
    "AFCM local": (lambda: AFCM(3, kernel="local").fit(X), NEW),
    "AFCM binary": (lambda: AFCM(3, kernel="binary", init="k-means++", n_init=2).fit(X), NEW),
    "AFCM adaptive": (lambda: AFCM(3, kernel="adaptive", merge_duplicates=False).fit(X), NEW),
    "AFCM given": (lambda: AFCM(3, affinity="precomputed").fit(similarities(X)), similarities(NEW)),
    "AFCM given sparse": (
        lambda: AFCM(3, affinity="precomputed").fit(sp.csr_array(similarities(X))),
        sp.csr_array(similarities(NEW)),
    ),
    "AFCM float32": (lambda: AFCM(3).fit(X.astype(np.float32)), NEW.astype(np.float32)),
    "AFCM sparse": (lambda: AFCM(3).fit(sp.csr_array(X)), sp.csr_array(NEW)),
    "AFCM sparse matrix": (lambda: AFCM(3).fit(sp.csr_matrix(X)), sp.csr_matrix(NEW)),
    "AFCM many columns": (lambda: AFCM(3).fit(samples(columns=9)), samples(columns=9, seed=1)),
    "AFCM memberships": (lambda: AFCM(3, init=np.eye(3)[np.arange(len(X)) % 3]).fit(X), NEW),
    "AFCM names": (lambda: AFCM(3).fit(TABLE), TABLE[::-1]),
    "AFCM anchors": (lambda: AFCM(3, graph="anchors", n_anchors=20).fit(X), NEW),
    "AFCM anchors absent": (lambda: AFCM("auto", graph="anchors").fit(X, sample_weight=WEIGHTS), NEW),
    "AFCM anchors local": (lambda: AFCM(3, graph="anchors", kernel="local").fit(X[:-4]), NEW),
    "AFCM merged": (lambda: AFCM(4, n_views=3).fit(X).merge([0, 2]), NEW),
    "AFCM split": (lambda: AFCM(3).fit(X).split(1).merge([0, 2]), NEW),
    "AFCM one": (lambda: AFCM(1).fit(X), NEW),
    "PlainAFCM": (lambda: PlainAFCM(3).fit(X, sample_weight=WEIGHTS), NEW),
    "PlainAFCM float32": (lambda: PlainAFCM(3).fit(X.astype(np.float32)), NEW.astype(np.float32)),
    "PlainAFCM names": (lambda: PlainAFCM(3, init=X[:3].tolist()).fit(TABLE), TABLE),
    "PlainAFCM output": (lambda: PlainAFCM(3).set_output(transform="pandas").fit(TABLE), TABLE),
    "PlainAFCM noise": (lambda: PlainAFCM(3, noise="auto").fit(X), NEW),
    "PlainAFCM noise, many columns": (
        lambda: PlainAFCM(3, noise=0.1).fit(samples(columns=9)),
        samples(columns=9, seed=1),
    ),
    "FCM": (lambda: FCM(3, m=1.5).fit(X), NEW),
    "EntropyFCM": (lambda: EntropyFCM(3).fit(X), NEW),
    **{
        f"GeneralizedGaussianMixture {kind}": (
            lambda kind=kind: GeneralizedGaussianMixture(2, covariance_type=kind).fit(X),
            NEW,
        )
        for kind in ("full", "tied", "diag", "spherical", "identity")
    },
    "GeneralizedGaussianMixture shapes": (
        lambda: GeneralizedGaussianMixture(2, shared_shape=False, covariance_type="tied").fit(X),
        NEW,
    ),
    "GeneralizedGaussianMixture noise": (lambda: GeneralizedGaussianMixture(2, noise=0.2).fit(X), NEW),
    "CDKM": (lambda: CDKM(3).fit(X), NEW),
    "FCAG": (lambda: FCAG(3).fit(X), NEW),
    "FKPS": (lambda: FKPS(3).fit(X), NEW),
    "FKPS projected": (lambda: FKPS(3, projection=2).fit(X), NEW),
    "RSFKM": (lambda: RSFKM(3).fit(X), NEW),
    "SpectralBaseline": (lambda: SpectralBaseline(3).fit(X), None),
    "SpectralBaseline plain": (lambda: SpectralBaseline(3, assign="plain").fit(X), None),
    "KMeans": (lambda: KMeans(3, n_init=1).fit(X), NEW),
    "Pipeline": (lambda: make_pipeline(SimpleImputer(), StandardScaler(), AFCM(3)).fit(HOLES), HOLES),
    "Pipeline table": (lambda: make_pipeline(TableScaler(weights={"width": 2}), PlainAFCM(3)).fit(MIXED), MIXED[::-1]),
    "TableScaler": (lambda: TableScaler().fit(MIXED), None),
    "Pipeline minmax": (lambda: make_pipeline(MinMaxScaler(), "passthrough", PlainAFCM(3)).fit(X), NEW),
    "Pipeline robust": (lambda: make_pipeline(RobustScaler(), FCM(3)).fit(X), NEW),
    "Pipeline sparse": (lambda: make_pipeline(MaxAbsScaler(), AFCM(3)).fit(sp.csr_array(X)), sp.csr_array(NEW)),
    "StandardScaler off": (lambda: StandardScaler(with_mean=False, with_std=False).fit(X), NEW),
}


@cache
def fitted(name):
    """The model of a recipe."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.random.seed(0)
        return RECIPES[name][0]()


def new_samples(name):
    """Samples that the model of a recipe can place, or None."""
    return RECIPES[name][1]


def answers(model, new):
    """All that a model tells, by method; what it refuses is an answer, too."""
    found = {}
    for method in ("predict", "predict_proba", "transform", "calibrated_memberships", "score_samples"):
        if hasattr(model, method) and new is not None:
            found[method] = getattr(model, method)(new)
    if hasattr(model, "outlier_scores_") and new is not None:
        found["outlier_scores"] = model.outlier_scores(new)
    if hasattr(model, "calibrated_memberships"):
        try:
            found["calibrated"] = model.calibrated_memberships()
        except ValueError as error:
            found["calibrated"] = str(error)
    return found


def last(model):
    """The model itself, or the last step of a pipeline."""
    return model[-1] if hasattr(model, "steps") else model
