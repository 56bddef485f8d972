"""The report's sentences, word for word."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afcm.report import words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (1, "1"), (-2.5, "−2.5"), (1234.5, "1,234"), (0.000123456, "0.000123"), (0.0000123, "1.23 × 10⁻⁵"),
        (1.8727e6, "1.87 × 10⁶"), (-3e-20, "−3.00 × 10⁻²⁰"), (999.9, "1,000"), (None, "–"), (math.inf, "–"),
        (100, "100"),
    ],
)  # fmt: skip
def test_numbers_to_read(value, text):
    assert words.format_number(value) == text


@given(st.floats(-1e300, 1e300))
def test_a_number_is_told_to_three_digits(value):
    text = words.format_number(value).replace(",", "").replace("−", "-")
    mantissa, _, power = text.partition(" × 10")
    digits = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    told = float(f"{mantissa}e{power.translate(digits) or 0}")
    assert told == pytest.approx(value, rel=0.006)


@pytest.mark.parametrize(
    ("count", "total", "text"),
    [(0, 7, "0 %"), (7, 7, "100 %"), (1, 1000, "under 1 %"), (999, 1000, "99 %"), (12, 150, "8 %"), (0, 0, "100 %")],
)
def test_a_share_is_0_or_100_only_if_it_is(count, total, text):
    assert words.format_percent(count, total) == text


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ([50, 61, 39], "3 clusters of 50, 61 and 39 samples."),
        ([50, 50], "2 clusters of 50 samples each."),
        ([1, 1], "2 clusters of 1 sample each."),
        ([10000], "One cluster: all 10,000 samples are in it."),
        ([5, 0, 5], "3 clusters of 5, 0 and 5 samples. 1 of them is empty."),
        (list(range(34, 45)), "11 clusters of 34 to 44 samples (median 39)."),
    ],
)
def test_sizes(sizes, text):
    assert words.describe_sizes(sizes) == text


def test_a_number_that_the_model_counted():
    assert words.describe_sizes([2, 3], auto=True) == (
        "2 clusters of 2 and 3 samples. The number was counted by the model (n_clusters='auto')."
    )
    assert words.describe_sizes([5], auto=True) == (
        "The model was asked to count the clusters and found no valley deeper than chance makes them. "
        "One cluster: all 5 samples are in it."
    )


def test_stability():
    assert words.describe_stability([]) == words.describe_stability([0.3]) == ""
    assert words.describe_stability([0.5, 0.93]) == (
        "All clusters are stable: other graphs find them again (stability of at least 0.50)."
    )
    assert words.describe_stability([0.9, 0.31, 0.8]) == (
        "Cluster 1 is not stable: other graphs draw it differently (stability 0.31)."
    )
    assert words.describe_stability([0.4, 0.31, 0.8]) == (
        "2 of 3 clusters are not stable: other graphs draw them differently (stability below 0.5; the lowest, 0.31, "
        "has cluster 1)."
    )


def test_doubt():
    assert words.describe_doubt(12, 150, [(1, 2, 12)]) == (
        "12 samples (8 %) are ambiguous: their best membership leads the second by no more than 0.5. All of them lie "
        "between clusters 1 and 2."
    )
    assert words.describe_doubt(12, 150, [(1, 2, 8), (0, 1, 4)]).endswith(
        "Most often (8) they lie between clusters 1 and 2."
    )
    assert words.describe_doubt(1, 150, [(0, 2, 1)]) == (
        "1 sample (1 %) is ambiguous: its best membership leads the second by no more than 0.5. It lies between "
        "clusters 0 and 2."
    )
    assert words.describe_doubt(0, 150, []) == (
        "No sample is ambiguous: everywhere the best membership leads the second by more than 0.5."
    )
    assert words.describe_doubt(0, 150, [], can_doubt=False) == (
        "With memberships of 0 and 1 no sample can look ambiguous, whether it is or not."
    )


def test_background():
    assert words.describe_background(0.093, 83) == (
        "About 9 % of the samples look like background, which belongs to no cluster: for 83 that is more likely than "
        "not (outlier score of at least 0.5). They have labels and memberships like all others."
    )
    assert words.describe_background(0.001, 0) == (
        "Under 1 % of the samples look like background, which belongs to no cluster: for no single one is that more "
        "likely than not. They have labels and memberships like all others."
    )
    assert words.describe_background(0.0, 0) == words.describe_background(None, 0) == ""


def test_memberships():
    assert words.describe_memberships("soft", 0.62, 3, gamma=2.0) == (
        "The memberships are soft (crispness 0.62, where 1 is all 0 or 1)."
    )
    assert words.describe_memberships("soft", 0.956, 3, gamma=3.747) == (
        "The memberships are nearly crisp (crispness 0.96, where 1 is all 0 or 1) because the clusters are "
        "narrow against their distances (γ = 3.75)."
    )
    assert words.describe_memberships("hard", 1.0, 3, gamma=7.5e9, gamma_cap=7.5e9, embedded=True) == (
        "The memberships are all 0 or 1 because γ, their sharpness, ran to its cap (7.50 × 10⁹): they tell "
        "labels, not doubt."
    )
    assert words.describe_memberships("hard", 1.0, 3, gamma=20.0, gamma_cap=7.5e9, embedded=True) == (
        "The memberships are all 0 or 1 because the clusters are narrow against their distances in the "
        "embedding (γ = 20): they tell labels, not doubt."
    )
    assert words.describe_memberships("hard", 1.0, 3) == "The memberships are all 0 or 1: they tell labels, not doubt."
    assert words.describe_memberships("merged", 0.0, 3, gamma=1.0) == (
        "All 3 clusters merged: the memberships are the same everywhere, about 1/3, and the labels mean nothing. Try "
        "another start, other parameters or fewer clusters."
    )
    assert words.describe_memberships("soft", 1.0, 1, gamma=1.0) == ""


def test_memberships_of_several_kinds():
    assert words.describe_memberships("soft", 0.62, 3, method="mixture", gamma=2.0) == (
        "The memberships are probabilities by a mixture inside the clusters, soft (crispness 0.62, where 1 is all 0 or "
        "1)."
    )
    assert words.describe_memberships("soft", 0.97, 3, method="walk", gamma=20.0) == (
        "The memberships are probabilities by a random walk over the graph, nearly crisp (crispness 0.97, where 1 is "
        "all 0 or 1)."
    )
    assert words.describe_memberships("hard", 1.0, 3, method="mixture", gamma=20.0).endswith(
        "inside the clusters, all 0 or 1: by them no sample lies between clusters."
    )
    assert words.describe_memberships("hard", 1.0, 3, method="paper", gamma=7.5e9, gamma_cap=7.5e9) == (
        "The memberships are the paper's own, all 0 or 1 because γ, their sharpness, ran to its cap (7.50 × 10⁹): they "
        "tell labels, not doubt."
    )


def test_convergence():
    assert words.describe_convergence(True, 1) == "The run converged after 1 sweep."
    assert words.describe_convergence(False, 100, 0.0213) == (
        "The run did not converge: stopped after 100 sweeps, memberships still changed by 0.0213. Raise max_iter or "
        "tol."
    )
    assert words.describe_convergence(False, 100) == (
        "The run did not converge: stopped after 100 sweeps. Raise max_iter or tol."
    )
    assert words.describe_convergence(None, 3) == words.describe_convergence(True, None) == ""


def test_components():
    assert words.describe_components(1, 3) == words.describe_components(None, 3) == ""
    assert words.describe_components(2, 3) == "The neighbor graph falls into 2 pieces with no edge between them."
    assert words.describe_components(5, 3) == (
        "The neighbor graph falls into 5 pieces with no edge between them, more than clusters: pieces near each other "
        "were joined."
    )
    assert words.describe_components(5, 3, joins=False).endswith("the labels are partly arbitrary. Use more neighbors.")


def test_scores_say_that_the_fit_never_saw_the_classes():
    assert words.describe_scores(0.9667, 0.866, 0.9, 150, 150) == (
        "Compared afterwards with the known classes, which the fit never saw: accuracy 96.7 %, NMI 0.87, ARI 0.90."
    )
    assert "classes (the 20 of 150 samples that have one), which" in words.describe_scores(1, 1, 1, 20, 150)


def test_sampling():
    assert words.describe_sampling(150, 150, 3, 3) == ""
    assert words.describe_sampling(10_000, 30_000, 312, 312) == (
        "Picture and table show 10,000 of 30,000 samples, drawn at random, with samples of every cluster and all 312 "
        "ambiguous ones among them. All other numbers are of all samples."
    )
    assert "every cluster and 5,000 of 6,000 ambiguous ones among" in words.describe_sampling(
        10_000, 30_000, 5000, 6000
    )
    assert "every cluster among them" in words.describe_sampling(10_000, 30_000, 0, 0)
