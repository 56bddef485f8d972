"""Memberships between corners, and as bands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.patches import StepPatch

from afcm.plots import BandsDisplay, MembershipDisplay
from afcm.plots.bands import MOST_BARS
from afcm.plots.colors import cluster_colors, mix_colors
from afcm.plots.membership import corners
from tests.plots.artists import drawn, sorted_rows, texts

rows = st.lists(st.floats(0.01, 1), min_size=3, max_size=3).map(lambda row: np.array(row) / sum(row))


@given(rows)
def test_a_place_in_the_triangle_tells_all_memberships(row):
    (place,) = MembershipDisplay(row[None]).coordinates
    system = np.vstack([corners(3).T, np.ones(3)])
    np.testing.assert_allclose(np.linalg.solve(system, [*place, 1]), row, atol=1e-12)


@pytest.mark.parametrize("n_clusters", [3, 4, 7, 20])
def test_corners_are_a_regular_polygon_that_begins_at_the_top(n_clusters):
    polygon = corners(n_clusters)
    np.testing.assert_allclose(polygon[0], [0, 1])
    assert polygon[1, 0] > 0  # clockwise
    sides = np.linalg.norm(polygon - np.roll(polygon, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, 2 * np.sin(np.pi / n_clusters))
    np.testing.assert_allclose(np.linalg.norm(polygon, axis=1), 1)


def test_sure_samples_sit_in_their_corners():
    for n_clusters in (1, 2, 3, 6):
        np.testing.assert_array_equal(MembershipDisplay(np.eye(n_clusters)).coordinates, corners(n_clusters))


def test_the_triangle_holds_every_sample_in_its_mixed_colour(ax):
    soft = np.random.default_rng(0).dirichlet([0.5] * 3, 40)
    display = MembershipDisplay(soft)
    display.plot(ax)
    wanted = np.column_stack([display.coordinates, mix_colors(soft, cluster_colors(3)), np.full(40, 0.7)])
    np.testing.assert_allclose(drawn(ax), sorted_rows(wanted))
    assert "40 samples" in ax.get_title()


def test_corners_are_labelled_with_number_and_count(ax):
    MembershipDisplay([[0.9, 0.1, 0], [0.8, 0, 0.2], [0, 0, 1]]).plot(ax)
    labels = {text.get_text(): text.xy for text in ax.texts if text.get_text().startswith("cluster")}
    assert list(labels) == ["cluster 0\n(2 samples)", "cluster 1\n(0 samples)", "cluster 2\n(1 sample)"]
    np.testing.assert_allclose(list(labels.values()), corners(3))


def test_grid_labels_tell_the_membership_in_cluster_0(ax):
    MembershipDisplay(np.eye(3)).plot(ax)
    for text in ax.texts:
        if text.get_text().endswith("in cluster 0"):
            share = float(text.get_text().split()[0])
            assert text.xy[1] == pytest.approx(share * 1 + (1 - share) * -0.5)
    assert sum(text.endswith("in cluster 0") for text in texts(ax)) == 3


def test_two_clusters_are_a_line_with_memberships_along_it(ax):
    shares = np.array([0.0, 0.25, 1.0])
    MembershipDisplay(np.column_stack([1 - shares, shares])).plot(ax)
    np.testing.assert_allclose(drawn(ax)[:, 0], 2 * shares - 1)


def test_bands_are_sorted_by_cluster_and_falling_membership(soft):
    display = BandsDisplay(soft)
    assert sorted(display.order) == list(range(60))
    assert (np.diff(display.labels) >= 0).all()
    np.testing.assert_array_equal(display.labels, soft[display.order].argmax(axis=1))
    strength = soft[display.order].max(axis=1)
    assert (np.diff(strength)[np.diff(display.labels) == 0] <= 0).all()


def test_bands_hold_the_memberships_in_their_colours(soft, ax):
    display = BandsDisplay(soft)
    display.plot(ax)
    bands = [patch for patch in ax.patches if isinstance(patch, StepPatch)]
    for cluster, band in enumerate(bands):
        tops, edges, bottoms = band.get_data()
        np.testing.assert_allclose(tops - bottoms, soft[display.order, cluster])
        np.testing.assert_array_equal(edges, np.arange(61))
        assert to_hex(band.get_facecolor()).upper() == cluster_colors(4)[cluster]
    assert (bands[0].get_data()[2] == 0).all()
    np.testing.assert_allclose(bands[-1].get_data()[0], 1)
    assert len({band.get_hatch() for band in bands}) == 4


def test_white_lines_and_numbers_between_the_clusters(ax):
    BandsDisplay(np.eye(4)[[3, 0, 0, 3, 1, 3, 0, 1]]).plot(ax)
    lines = ax.collections[0]
    assert [segment[0][0] for segment in lines.get_segments()] == [3, 5]
    np.testing.assert_array_equal(lines.get_colors()[0], [1, 1, 1, 1])
    assert ax.get_xticks().tolist() == [1.5, 4, 6.5]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "3"]


def test_numbers_of_narrow_neighbours_are_on_different_lines(ax):
    BandsDisplay(np.eye(4)[[0] * 100 + [1, 2, 3]]).plot(ax)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "\n1", "\n\n2", "3"]


def test_many_samples_are_thinned_evenly_and_it_is_said(ax):
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [6000, 1, 3999])
    memberships = 0.7 * np.eye(3)[labels] + 0.3 * random.dirichlet([1] * 3, 10_000)
    display = BandsDisplay(memberships)
    assert MOST_BARS <= len(display.order) <= MOST_BARS + 3
    assert len(set(display.order)) == len(display.order)
    np.testing.assert_allclose(np.bincount(display.labels) / len(display.order), [0.6, 0, 0.4], atol=2e-3)
    assert (display.labels == 1).sum() == 1
    display.plot(ax)
    assert ax.get_title().startswith(f"{len(display.order):,} of 10,000 samples")
    BandsDisplay(memberships[:MOST_BARS]).plot(ax)
    assert ax.get_title().startswith("2,000 samples")
