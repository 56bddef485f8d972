"""The noise study: what it draws, how it judges, and that its page holds what its parts found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad_vec
from studies import backgrounds, noise, noise_page
from studies.backgrounds import BACKGROUND, KINDS, SHAPES, add_background


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_the_same_for_the_same_seed(name):
    first, again = SHAPES[name](3), SHAPES[name](3)
    assert np.array_equal(first.X, again.X)
    assert len(first.X) == len(first.y)
    assert first.n_clusters > 1


@pytest.mark.parametrize("kind", KINDS)
def test_background_is_scattered_over_clean_samples(kind):
    sample = SHAPES["moons"](0)
    noisy = add_background(sample, 0.25, kind, 0)
    clean = noisy.y != BACKGROUND
    assert (clean.sum(), noisy.y.size) == (600, 750)
    order = np.lexsort(noisy.X[clean].T)
    assert np.array_equal(noisy.X[clean][order], sample.X[np.lexsort(sample.X.T)])
    assert np.array_equal(add_background(sample, 0.0, kind, 0).X.sum(axis=0).round(9), sample.X.sum(axis=0).round(9))


@pytest.mark.parametrize("name", ["stretched blobs", "unequal blobs", "bars", "tiny cluster"])
def test_densities_of_shapes_integrate_to_one(name):
    sample = SHAPES[name](0)
    low, high = sample.X.min(axis=0) - 3, sample.X.max(axis=0) + 3
    grid = [np.linspace(a, b, 801) for a, b in zip(low, high, strict=True)]
    places = np.stack(np.meshgrid(*grid), axis=-1).reshape(-1, 2)
    cell = np.prod((high - low) / 800)
    assert np.exp(sample.log_density(places)).sum() * cell == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_densities_of_backgrounds_integrate_to_one(kind):
    box = backgrounds.Box(np.array([2.0]), np.array([3.0]))
    total = sum(
        share * quad_vec(lambda x, law=density: np.exp(law(box, np.array([[x]])))[0], -60, 60, points=[0.05, 3.95])[0]
        for share, _, density in KINDS[kind]
    )
    assert total == pytest.approx(1, abs=1e-4)


def test_no_score_beats_the_ratio_of_the_densities():
    noisy = add_background(SHAPES["unequal blobs"](5), 0.5, "uniform", 5)
    from sklearn.metrics import roc_auc_score
    from sklearn.neighbors import NearestNeighbors

    background = noisy.y == BACKGROUND
    distances = NearestNeighbors(n_neighbors=11).fit(noisy.X).kneighbors(noisy.X)[0][:, -1]
    assert roc_auc_score(background, noisy.best_score) > roc_auc_score(background, distances)


def test_only_clean_samples_are_scored():
    y, labels = np.array([0, 0, 1, 1, BACKGROUND]), np.array([1, 1, 0, 0, 0])
    assert noise.score_clean(y, labels) == 1


@pytest.mark.filterwarnings("ignore")
def test_a_quick_run_fills_the_page(tmp_path, capsys):
    noise.main(None, tmp_path, plan=noise.QUICK)
    page = (tmp_path / "noise-results.md").read_text()
    assert "make study NAME=noise" in page
    for title in ("Clusters under background", "Finding background samples", "False alarms", "Cost"):
        assert f"## {title}" in page
    assert "Public shapes" not in page
    rows = noise_page.read_rows(tmp_path / "noise" / "clusters.csv")
    assert [(row["seed"], row["share"]) for row in rows] == [(0, 0), (0, 0.25), (100, 0), (100, 0.25)]
    assert rows[0]["AFCM"] > 0.9
    assert "shapes left out" in capsys.readouterr().out


def test_means_leave_out_what_is_missing():
    rows = [{"a": 1.0, "kind": "x"}, {"a": np.nan, "kind": "x"}, {"a": 5.0, "kind": "y"}]
    assert noise_page.average(rows, "a") == 3
    assert noise_page.average(rows, "a", kind="x") == 1
    assert np.isnan(noise_page.average([], "a"))


def test_sets_that_lose_are_named():
    rows = [{"set": "a", "default": 0.5, "without": 0.9}, {"set": "b", "default": 0.9, "without": 0.92}]
    (table,) = noise_page.describe_shapes(rows)
    assert "densities: a." in table.text
    assert table.lines[-1] == ["mean", pytest.approx(0.7), pytest.approx(0.91), pytest.approx(-0.21)]
