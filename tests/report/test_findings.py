"""`Findings`: right numbers from every kind of fitted model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from afcm import AFCM, FCM, EntropyFCM, GeneralizedGaussianMixture, PlainAFCM
from afcm.baselines import CDKM, FCAG, RSFKM, SpectralBaseline
from afcm.metrics.ambiguity import ambiguity
from afcm.plots.layout import principal_components
from afcm.report import Findings
from afcm.report.features import profile_clusters, read_features
from afcm.report.views import LEAST_OF_A_CLUSTER, choose_rows, find_middles
from tests.report.built import Built, drawn_memberships, grid, soft

IRIS = load_iris(as_frame=True)
pytestmark = pytest.mark.filterwarnings("ignore::afcm.exceptions.AFCMWarning")


@pytest.fixture(scope="module")
def iris():
    model = make_pipeline(MinMaxScaler(), AFCM(3, random_state=0)).fit(IRIS.data)
    return model, Findings.of(model, IRIS.data, classes=IRIS.target_names[IRIS.target])


def test_a_pipeline_is_read_through_to_its_clusterer(iris):
    model, findings = iris
    assert findings.method == "MinMaxScaler → AFCM"
    assert np.array_equal(findings.fit.labels, model[-1].labels_)
    assert np.array_equal(findings.fit.memberships, model[-1].memberships_)
    assert np.array_equal(findings.ambiguity, ambiguity(model[-1].memberships_))
    assert findings.features.names == tuple(IRIS.data.columns)
    assert findings.parameters["n_clusters"] == "3"
    assert "callback" not in findings.parameters
    assert list(findings.versions) == ["afcm", "numpy", "scipy", "scikit-learn", "Python"]


def test_doubt_of_hard_memberships_depends_on_what_they_are():
    rows = np.eye(2)[[0, 1, 0, 1]]
    for method, said in (
        ("paper", "With memberships of 0 and 1 no sample can look ambiguous"),
        ("walk", "No sample is ambiguous"),
    ):
        assert Findings.of(soft(rows, membership_method=method), grid(4)).summary[1].startswith(said)


def test_parameters_that_are_no_words_or_numbers_are_told_in_short():
    X, seen = IRIS.data.to_numpy(), []

    def look(iteration):
        seen.append(iteration)

    model = PlainAFCM(3, init=X[:3], random_state=np.random.RandomState(0), callback=look).fit(X)
    told = Findings.of(model, X).parameters
    assert (told["init"], told["random_state"], told["callback"]) == ("array of shape (3, 4)", "RandomState", "look")
    assert seen


def test_profiles_are_means_in_original_units(iris):
    model, findings = iris
    for j in range(3):
        members = IRIS.data.to_numpy()[model[-1].labels_ == j]
        assert findings.profile.means[j] == pytest.approx(members.mean(axis=0))
        away = (members.mean(axis=0) - IRIS.data.mean()) / IRIS.data.std(ddof=0)
        assert findings.profile.deviations[j] == pytest.approx(away)
    assert findings.features.names[findings.profile.telling[-1]] == "sepal width (cm)"


def test_the_summary_of_iris(iris):
    _, findings = iris
    assert findings.summary[0] == f"3 clusters of {', '.join(map(str, findings.profile.sizes[:2]))} and " + (
        f"{findings.profile.sizes[2]} samples."
    )
    assert "The memberships are probabilities by a mixture inside the clusters" in findings.summary[2]
    assert "which the fit never saw: accuracy" in " ".join(findings.summary)


MODELS = [
    AFCM(3), AFCM("auto"), AFCM(1), PlainAFCM(3), PlainAFCM(1), FCM(3), EntropyFCM(3), CDKM(3), RSFKM(3), FCAG(3),
    GeneralizedGaussianMixture(3), SpectralBaseline(3), SpectralBaseline(3, assign="plain"),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_every_model_has_findings(model):
    X = IRIS.data.to_numpy()
    findings = Findings.of(model.set_params(random_state=0).fit(X), X)
    assert findings.profile.sizes.sum() == 150
    assert findings.title == f"{type(model).__name__}: 150 samples"
    assert findings.views[0].positions.shape == (150, 2)
    assert np.isfinite(findings.ambiguity).all()
    assert all(sentence == sentence.strip() and sentence.endswith(".") for sentence in findings.summary)


def test_words_for_hand_built_states():
    X = grid(4)
    doubtful = soft([[0.9, 0.1], [0.1, 0.9], [0.6, 0.4], [0.55, 0.45]], n_iter=7, converged=False)
    assert Findings.of(doubtful, X).summary == [
        "2 clusters of 3 and 1 samples.",
        "2 samples (50 %) are ambiguous: their best membership leads the second by no more than 0.5. All of them lie "
        "between clusters 0 and 1.",
        "The memberships are soft (crispness 0.33, where 1 is all 0 or 1).",
        "The run did not converge: stopped after 7 sweeps. Raise max_iter or tol.",
    ]
    merged = soft(np.full((4, 2), 0.5), history={"membership_change": [0.5, 0.25]}, n_iter=2, converged=False)
    said = Findings.of(merged, X).summary
    assert said[1].startswith("All 2 clusters merged")
    assert said[2].endswith("memberships still changed by 0.25. Raise max_iter or tol.")
    assert not any("ambiguous" in sentence for sentence in said)


def test_outliers_come_worst_first():
    scores = np.array([0.2, 0.9, 0.5, 0.49])
    findings = Findings.of(soft(drawn_memberships(4, 2), noise_share=0.4, outlier_scores=scores), grid(4))
    assert findings.outliers.tolist() == [1, 2]
    assert "for 2 that is more likely than not" in findings.summary[2]
    assert Findings.of(soft(drawn_memberships(4, 2)), grid(4)).outliers.size == 0


def test_a_model_with_labels_only():
    findings = Findings.of(Built().with_(labels=np.array([0, 0, 1])), grid(3))
    assert findings.summary == [
        "2 clusters of 2 and 1 samples.",
        "With memberships of 0 and 1 no sample can look ambiguous, whether it is or not.",
        "The memberships are all 0 or 1: they tell labels, not doubt.",
    ]
    with pytest.raises(ValueError, match="Built has no labels_ and no memberships_; fit it first"):
        Findings.of(Built(), grid(3))


def test_a_mixtures_fixed_gamma_is_no_reason():
    model = GeneralizedGaussianMixture(3, random_state=0).fit(IRIS.data.to_numpy())
    assert Findings.of(model, IRIS.data).fit.gamma is None


def test_pairs_are_counted_from_the_two_best_clusters():
    rows = [[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5], [0.1, 0.5, 0.4], [1, 0, 0]]
    findings = Findings.of(soft(rows), grid(5))
    assert findings.pairs == [(1, 2, 2), (0, 1, 1), (0, 2, 1)]
    assert findings.ambiguous.tolist() == [0, 1, 2, 3]


def test_similarities_have_no_features_but_an_embedding():
    from sklearn.metrics.pairwise import rbf_kernel

    S = rbf_kernel(IRIS.data)
    model = AFCM(2, affinity="precomputed", random_state=0).fit(S)
    alone, told = Findings.of(model, S), Findings.of(model, S, features=IRIS.data)
    assert alone.features.names == ()
    assert [view.name for view in alone.views] == ["Model's embedding"]
    assert [view.name for view in told.views] == ["Principal components", "Model's embedding"]


def test_samples_of_weight_zero_are_placed():
    X, weights = grid(60, 2), np.ones(60)
    X[:30] += 20
    weights[3] = 0
    findings = Findings.of(AFCM(2, random_state=0).fit(X, sample_weight=weights), X)
    assert findings.fit.memberships.shape == (60, 2)


def test_missing_values_and_names_of_features():
    table = pd.DataFrame({"a": [1.0, np.nan, 3.0, np.inf], "b": [5, 5, 5, 5]})
    features = read_features(table, None)
    profile = profile_clusters(features, np.array([0, 0, 1, 1]), 3)
    assert features.names == ("a", "b")
    assert profile.means[:2].tolist() == [[1, 5], [3, 5]]
    assert np.isnan(profile.means[2]).all()
    assert profile.deviations[:2, 1].tolist() == [0, 0]
    with pytest.raises(ValueError, match="feature_names has 1 names for 2 features"):
        read_features(table, ["a"])
    with pytest.raises(ValueError, match="features must be numbers"):
        read_features([["red"]], None)
    with pytest.raises(ValueError, match="samples as rows"):
        read_features([1, 2], None)


def test_of_a_wide_sparse_matrix_the_columns_that_vary_most_are_kept():
    X = sp.csr_array((np.array([9.0, 8.0]), ([0, 1], [250, 7])), shape=(4, 300))
    features = read_features(X, None)
    assert (len(features.names), features.n_given) == (200, 300)
    assert {"x7", "x250"} <= set(features.names)


def test_rows_that_do_not_fit_are_refused():
    model = soft(drawn_memberships(5, 2))
    for name, value in {"ids": [1], "classes": ["a"], "features": grid(4)}.items():
        with pytest.raises(ValueError, match=f"{name} has . rows but the model was fitted on 5; give those of the fit"):
            Findings.of(model, grid(5), **{name: value})


def test_unknown_classes_do_not_count():
    model = soft([[1, 0], [1, 0], [0, 1], [0, 1]])
    findings = Findings.of(model, grid(4), classes=["a", None, "b", float("nan")])
    assert findings.classes == ("a", None, "b", None)
    assert findings.scores == (1, 1, 1, 2)
    assert Findings.of(model, grid(4), classes=[None] * 4).scores is None
    for column in (pd.Series(["a", pd.NA, "b", pd.NaT], dtype=object), pa.chunked_array([["a", None], ["b", None]])):
        assert Findings.of(model, grid(4), classes=column).classes == ("a", None, "b", None)


def test_shown_rows_hold_every_cluster_and_the_ambiguous():
    rng = np.random.default_rng(0)
    labels = rng.integers(50, size=5000)
    labels[:3] = 50  # a tiny cluster
    doubt = np.where(np.arange(5000) % 25 == 0, 0.9, 0.1)
    rows = choose_rows(labels, doubt, 0, most=2000)
    assert rows.size == np.unique(rows).size == 2000
    assert set(np.flatnonzero(doubt > 0.5)) <= set(rows)
    assert (np.bincount(labels[rows])[:50] >= LEAST_OF_A_CLUSTER).all()
    assert np.bincount(labels[rows])[50] == 3
    assert np.array_equal(rows, choose_rows(labels, doubt, 0, most=2000))
    assert np.array_equal(choose_rows(labels, doubt, 0, most=5000), np.arange(5000))


def test_many_tiny_clusters_each_show_a_sample():
    labels = np.repeat(np.arange(900), 5)
    rows = choose_rows(labels, np.ones(labels.size), 0, most=2000)
    assert np.unique(labels[rows]).size == 900


def test_principal_components_keep_the_most_variance():
    X = grid(80, 6) * [9, 1, 5, 1, 1, 1]
    positions, shares = principal_components(X, 0)
    values = np.linalg.eigvalsh(np.cov(X.T))
    assert shares == pytest.approx(values[:-3:-1] / values.sum(), rel=1e-6)
    assert positions.mean(axis=0) == pytest.approx([0, 0], abs=1e-12)
    for flat in (np.ones((5, 3)), np.zeros((5, 0))):
        assert not principal_components(flat, 0)[0].any()


def test_a_ring_is_numbered_on_the_ring():
    angles = np.linspace(0, 2 * np.pi, 50)
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    (where, nothing) = find_middles(ring, np.zeros(50, dtype=int), 2)
    assert np.hypot(*where) == pytest.approx(1)
    assert nothing is None


def test_one_and_two_features_are_shown_as_they_are():
    one, two = (Findings.of(soft(drawn_memberships(9, 2)), grid(9, d)).views[0] for d in (1, 2))
    assert (one.name, one.jitter, two.name) == ("Feature", True, "Features")
    assert np.array_equal(two.positions, grid(9, 2))
    assert two.caption.startswith("→ x0, from ")
