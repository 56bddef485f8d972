"""The study of known probabilities: families have the densities they say, and scores are their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from studies import posterior, posterior_page, posteriors
from studies.noise_page import read_rows
from studies.posteriors import FAMILIES, Curve, Family, Gaussian, HeavyTailed, Known, Skewed

PARTS = {
    "Gaussian": Gaussian([0.5, -1.0], posteriors.turn([2.0, 0.3], 40)),
    "t": HeavyTailed([1.0, 0.0], 3),
    "skewed": Skewed((-1.0, 0.5), -1),
    "curve": Curve((0.0, 0.3), 1.0, (0.0, np.pi), 0.3),
}


@pytest.mark.parametrize("name", PARTS)
def test_densities_are_those_of_the_samples(name):
    """The share of the samples in a square is the integral of the density over it."""
    part, random = PARTS[name], np.random.default_rng(0)
    X = part.draw(100_000, random)
    ticks = (np.arange(200) + 0.5) / 100 - 1.0
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    expected = np.exp(part.log_density(grid)).sum() * 0.01**2
    assert (np.abs(X) < 1).all(axis=1).mean() == pytest.approx(expected, abs=0.006)


@pytest.mark.parametrize("name", FAMILIES)
def test_posteriors_are_calibrated(name):
    """Among samples of probability p, a share of p comes from the cluster."""
    family = FAMILIES[name]
    known = family.draw(4000, 7)
    assert known.posterior.shape == (4000, family.n_clusters)
    np.testing.assert_allclose(known.posterior.sum(axis=1), 1)
    assert known.posterior.mean(axis=0) == pytest.approx(np.bincount(known.y) / 4000, abs=0.03)
    right, sure = known.posterior.argmax(axis=1) == known.y, known.posterior.max(axis=1)
    assert sure.mean() == pytest.approx(right.mean(), abs=0.02)
    np.testing.assert_array_equal(family.draw(50, 3).X, family.draw(50, 3).X)


def test_families_know_whether_they_are_gaussian():
    assert len(FAMILIES) >= 12
    assert [name for name, family in FAMILIES.items() if not family.gaussian] == [
        *("t, 3 degrees", "skewed", "moons .12", "moons .18", "moons .25", "rings .10", "rings .15")
    ]


def test_columns_are_matched_and_padded():
    truth = np.array([[1.0, 0.0], [0.8, 0.2], [0.0, 1.0]])
    np.testing.assert_array_equal(posterior.match_columns(truth, truth[:, ::-1]), truth)
    more = np.array([[0.0, 0.1, 0.9], [0.1, 0.2, 0.7], [0.2, 0.8, 0.0]])
    np.testing.assert_array_equal(posterior.match_columns(truth, more), more[:, [2, 1]])
    one = posterior.match_columns(truth, np.ones((3, 1)))
    np.testing.assert_array_equal(one, [[1.0, 0.0]] * 3)


def test_scores_are_their_formulas():
    truth = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.5, 0.5]])
    found = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.7, 0.3]])
    scores = posterior.judge(Known(None, np.array([0, 1, 1, 0]), truth), found)
    assert scores["brier"] == pytest.approx((2 * 0.01 + 2 * 0.01 + 2 * 0.04 + 2 * 0.04) / 4)
    assert scores["log_loss"] == pytest.approx(-np.log([0.9, 0.4, 0.8, 0.7]).mean())
    assert scores["accuracy"] == 0.75
    assert scores["auc"] == 1.0


def test_one_probability_is_spread_over_the_other_clusters():
    found = posterior.spread_probabilities(np.array([0, 2, -1]), np.array([0.9, 0.5, 0.0]))
    np.testing.assert_allclose(found, [[0.9, 0.05, 0.05], [0.25, 0.25, 0.5], [1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_array_equal(posterior.spread_probabilities(np.array([-1]), np.zeros(1)), [[1.0]])


def test_labels_are_right_near_the_best_possible():
    rows = [
        {"family": "a", "method": "best possible", "accuracy": 0.9},
        {"family": "a", "method": "AFCM", "accuracy": 0.881},
        {"family": "b", "method": "best possible", "accuracy": 0.9},
        {"family": "b", "method": "AFCM", "accuracy": 0.879},
    ]
    assert posterior_page.has_right_labels(rows, "a")
    assert not posterior_page.has_right_labels(rows, "b")


def test_weights_are_the_shares_of_the_clusters():
    family = Family([Gaussian([0, 0], [1, 1]), Gaussian([50, 0], [1, 1])], [0.9, 0.1])
    known = family.draw(5000, 0)
    assert known.y.mean() == pytest.approx(0.1, abs=0.02)
    found = family.posterior(np.array([[25.0, 0.0], [0.0, 0.0]]))
    np.testing.assert_allclose(found, [[0.9, 0.1], [1.0, 0.0]], atol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_a_quick_run_fills_the_page(tmp_path):
    posterior.main(None, tmp_path, plan=posterior.QUICK)
    page = (tmp_path / "posterior-results.md").read_text()
    assert "make study NAME=posterior" in page
    for title in ("Distance from the true posterior", "All scores", "Beside a Gaussian mixture", "New samples", "Cost"):
        assert f"## {title}" in page
    rows = read_rows(tmp_path / "posterior" / "known.csv")
    assert {row["method"] for row in rows} == set(posterior_page.METHODS)
    assert all(row["brier"] == 0 for row in rows if row["method"] == "best possible")
    assert all((tmp_path / "images" / f"posterior-{name}.png").stat().st_size > 10_000 for name in ("maps", "scores"))
