"""The table, the votes and the recommendation."""

import math

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from afcm import AFCM, select_n_clusters
from afcm.exceptions import NoClustersWarning
from afcm.graph import eigenvectors
from afcm.graph.counting import Parts, Valley
from afcm.selection.choosing import CRITERIA, collect_votes, eigengaps, recommend, stability


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(240, centers=12 * np.eye(4), random_state=0)[0]


@pytest.fixture(scope="module")
def selection(blobs):
    return select_n_clusters(blobs, range(1, 8), random_state=0)


def test_clear_clusters_are_recommended_and_every_criterion_but_stability_agrees(selection):
    assert selection.n_clusters == 4
    assert {name for name, vote in selection.votes.items() if vote != 4} <= {"stability"}  # fewer can be as stable
    assert "4 pieces" in selection.reason


def test_table_has_every_number_and_every_criterion(selection):
    assert [row["n_clusters"] for row in selection.table] == list(range(1, 8))
    assert all(set(row) == {"n_clusters", *CRITERIA} for row in selection.table)
    assert math.isnan(selection.table[0]["xie_beni"])
    assert all(math.isfinite(value) for row in selection.table[1:] for value in row.values())


def test_text_marks_the_choices(selection):
    lines = str(selection).splitlines()
    assert lines[-1].startswith("n_clusters = 4: ")
    assert lines[4].count("*") == list(selection.votes.values()).count(4)


def test_one_eigen_solve_serves_the_whole_range(blobs, monkeypatch):
    wanted = []
    solve = eigenvectors.solve_leading
    monkeypatch.setattr(
        eigenvectors, "solve_leading", lambda graph, n, *a, **k: wanted.append(n) or solve(graph, n, *a, **k)
    )
    select_n_clusters(blobs, range(2, 6), random_state=0)
    assert [n for n in wanted if n > 4] == [6]  # the others order pieces: by a second eigenvector, by two clusters


def test_data_without_clusters_are_said_to_have_none():
    X = np.random.default_rng(0).standard_normal((300, 3))
    assert select_n_clusters(X, range(1, 4), random_state=0).reason.startswith("no clusters")
    with pytest.warns(NoClustersWarning, match="no clusters found"):
        model = AFCM("auto", random_state=0).fit(X)
    assert model.n_clusters_ == 1
    assert (model.labels_ == 0).all()


def test_auto_equals_the_count_given(blobs):
    auto, given = AFCM("auto", random_state=0).fit(blobs), AFCM(4, random_state=0).fit(blobs)
    assert auto.n_clusters_ == 4
    np.testing.assert_array_equal(auto.labels_, given.labels_)
    np.testing.assert_array_equal(auto.predict(blobs[:5]), given.labels_[:5])


def test_auto_counts_a_precomputed_graph():
    weights = np.kron(np.eye(3), np.ones((12, 12)))
    model = AFCM("auto", affinity="precomputed", random_state=0).fit(weights)
    assert model.n_clusters_ == 3


def test_a_recommendation_outside_the_range_says_so():
    parts = Parts(np.array([0, 1, 2]), (Valley(9.0, 2.0, (5, 5)), Valley(3.0, 2.5, (5, 5))), ())
    best, reason = recommend(parts, [5, 6])
    assert best == 5
    assert "3.0 standard deviations" in reason
    assert "3 is not among the numbers asked for" in reason


def test_votes_follow_the_direction_of_a_criterion():
    table = [{"n_clusters": c, **dict.fromkeys(CRITERIA, float(c))} for c in (2, 3, 4)]
    found = collect_votes(table)
    assert found["eigengap"] == 4
    assert found["plain_bic"] == 2
    table[0]["plain_bic"] = math.nan
    assert collect_votes(table)["plain_bic"] == 3


def test_eigengaps():
    assert eigengaps(np.array([1.0, 0.9, 0.2]), [1, 2]) == pytest.approx([0.1, 0.7])


def test_stability_is_one_for_clear_rows_and_low_for_noise():
    random = np.random.RandomState(0)
    clear = np.repeat(np.eye(3), 30, axis=0) + 0.01 * random.standard_normal((90, 3))
    assert stability(clear, 3, random) == pytest.approx(1.0)
    assert stability(random.standard_normal((90, 3)), 3, random) < 0.8


def test_stability_is_zero_where_half_the_samples_are_fewer_than_the_clusters():
    rows = np.repeat(np.eye(3), 2, axis=0)
    assert stability(np.hstack([rows, rows[:, :1]]), 4, np.random.RandomState(0)) == 0.0


def test_models_that_cannot_be_fitted_leave_their_columns_empty_and_the_others_stand():
    X = np.repeat([[0.0, 0.0], [1.0, 0.5], [9.0, 9.0], [10.0, 8.0]], 5, axis=0)
    table = select_n_clusters(X, range(1, 7), random_state=0).table
    models = ("xie_beni", "fuzzy_silhouette", "plain_bic", "mixture_bic")
    assert all(math.isfinite(row["plain_bic"]) for row in table[:4])
    assert all(math.isnan(row[name]) for row in table[4:] for name in models)  # four different samples
    assert all(math.isfinite(row["eigengap"]) for row in table)


@pytest.mark.parametrize(
    ("counts", "message"),
    [([], "n_clusters is empty"), ([0, 1], "n_clusters=0 must be at least 1"), ([2, 239], "n_clusters goes up to 239")],
)
def test_bad_ranges(blobs, counts, message):
    with pytest.raises(ValueError, match=message):
        select_n_clusters(blobs, counts)


def test_plot_shows_the_recommendation(selection):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = selection.plot(figure.subplots())
    assert axes.figure is figure
    assert "recommended: 4" in [text.get_text() for text in axes.get_legend().get_texts()]
