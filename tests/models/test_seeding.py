"""k-means with known nodes: held where they are known, and a new center for a class without a cluster."""

from __future__ import annotations

import numpy as np

from afcm.models.seeding import choose_spare, find_owners, first_centers, mean_points, seed_clusters

ONES = np.ones(6)
LINE = np.array([[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]])


def test_a_class_owns_the_cluster_with_most_of_its_nodes():
    labels, known = np.array([0, 0, 1, 1, 2, 2]), np.array([2, 2, 2, 0, -1, -1])
    assert find_owners(labels, known, 3).tolist() == [1, -1, 0]


def test_a_class_inside_the_cluster_of_another_one_gets_its_own_center():
    labels, known = np.array([0, 0, 0, 0, 1, 2]), np.array([0, 0, 1, -1, -1, -1])
    centers = first_centers(LINE, ONES, labels, known, 3)
    assert centers[0] == LINE[:4].mean()
    assert centers[1] == 10
    assert centers[2] in (20, 21)  # one of the two spare clusters goes
    assert seed_clusters(LINE, ONES, labels, known, 3).labels.tolist() == [0, 0, 1, 1, 2, 2]


def test_known_nodes_stay_and_their_nearest_center_is_told():
    labels, known = np.array([0, 0, 0, 1, 1, 1]), np.array([0, -1, -1, -1, -1, 0])
    found = seed_clusters(LINE, ONES, labels, known, 2)
    assert found.labels[5] == 0
    assert found.nearest[5] == found.labels[4] == 1


def test_spare_centers_come_in_the_order_of_what_they_save():
    order = choose_spare(LINE, ONES, LINE[:1], LINE[[0, 2, 4]], np.array([1, 2]))
    saved = [np.minimum(LINE[:, 0] ** 2, (LINE[:, 0] - LINE[j, 0]) ** 2).sum() for j in (2, 4)]
    assert order.tolist() == [1, 2] if saved[0] < saved[1] else [2, 1]


def test_means_leave_out_unknown_nodes_and_count_masses():
    masses = np.array([1.0, 3.0, 1.0, 1.0, 1.0, 1.0])
    means = mean_points(LINE, masses, np.array([0, 0, -1, -1, -1, -1]), 2, np.full((2, 1), 7.0))
    assert means.tolist() == [[0.75], [7.0]]
