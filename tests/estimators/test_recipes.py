"""AFCM in the places where other packages expect their own cluster model (docs/packages.md)."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import kneighbors_graph

from afcm import AFCM, FCM, PlainAFCM, load_model, save_model
from afcm.metrics import clustering_accuracy


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, n_features=4, centers=3, random_state=1)


class TopicModel:
    """What BERTopic does with its cluster model, call by call and attribute by attribute."""

    def __init__(self, cluster_model):
        self.cluster_model = cluster_model

    def fit_transform(self, X, y=None):
        self.cluster_model.fit(X, y=y)
        topics, found = self.cluster_model.labels_, None
        if hasattr(self.cluster_model, "probabilities_"):
            found = self.cluster_model.probabilities_
        self.sizes_ = {topic: int((topics == topic).sum()) for topic in set(topics)}
        return topics, found

    def transform(self, X):
        return self.cluster_model.predict(X)


def test_a_topic_model_finds_all_that_it_reads(blobs):
    X, y = blobs
    topic_model = TopicModel(AFCM(3, random_state=0))
    topics, probabilities = topic_model.fit_transform(X)
    assert clustering_accuracy(y, topics) == 1
    assert topic_model.sizes_ == {0: 40, 1: 40, 2: 40}
    assert probabilities.shape == (120,)
    assert (topic_model.transform(X) == topics).all()


@pytest.mark.parametrize("model", [AFCM(3, random_state=0), PlainAFCM(3, random_state=0), FCM(3, random_state=0)])
def test_probabilities_are_the_memberships_of_the_labels(model, blobs):
    X, _ = blobs
    model.fit(X)
    own = np.array([model.memberships_[i, label] for i, label in enumerate(model.labels_)])
    assert np.array_equal(model.probabilities_, own)
    assert model.probabilities_.dtype == model.memberships_.dtype


def test_probabilities_come_with_a_fit_and_with_a_model_file(tmp_path, blobs):
    model = AFCM(3, random_state=0)
    assert not hasattr(model, "probabilities_")
    model.fit(blobs[0])
    save_model(model, tmp_path / "model.afcm")
    assert np.array_equal(load_model(tmp_path / "model.afcm").probabilities_, model.probabilities_)


def test_probabilities_of_chunks_are_those_of_an_array(blobs):
    da = pytest.importorskip("dask.array")
    model = FCM(3, random_state=0, init=blobs[0][:3]).fit(da.from_array(blobs[0], chunks=(50, 4)))
    assert np.array_equal(model.probabilities_.compute(), model.memberships_.compute().max(axis=1))


def test_annotated_data_give_their_graph_and_keep_the_clusters(blobs):
    anndata = pytest.importorskip("anndata", reason="the recipe for AnnData needs anndata")
    X, y = blobs
    near = kneighbors_graph(X, 10, mode="connectivity")
    adata = anndata.AnnData(X.astype(np.float32), obsp={"connectivities": near.maximum(near.T)})
    model = AFCM(3, affinity="precomputed", random_state=0).fit(adata.obsp["connectivities"])
    adata.obs["afcm"] = model.labels_.astype(str)
    adata.obs["afcm_probability"] = model.probabilities_
    adata.obsm["X_afcm"] = model.memberships_
    assert clustering_accuracy(y, adata.obs["afcm"].to_numpy().astype(int)) == 1
    assert (adata.obsm["X_afcm"].max(axis=1) == adata.obs["afcm_probability"]).all()


def test_sparse_text_stays_sparse_and_means_the_same(monkeypatch):
    random = np.random.default_rng(2)
    words = np.array([f"word{i}" for i in range(60)])
    y = np.repeat([0, 1, 2], 40)
    texts = [" ".join(random.choice(words[20 * topic : 20 * topic + 20], 12)) for topic in y]
    X = TfidfVectorizer().fit_transform(texts)
    dense = AFCM(3, random_state=0, memberships="paper").fit(X.toarray())
    monkeypatch.setattr(type(X), "toarray", lambda self, *args, **options: pytest.fail("X was made dense"))
    model = AFCM(3, random_state=0, memberships="paper").fit(X)
    assert clustering_accuracy(y, model.labels_) == 1
    assert clustering_accuracy(dense.labels_, model.labels_) == 1
    assert (model.predict(X[:20]) == model.labels_[:20]).all()
