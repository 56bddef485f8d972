"""A graph is split at valleys deeper than chance: profile, depth, threshold and pieces against slow formulas."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from afcm.graph import counting
from afcm.graph.counting import Parts, Valley
from tests.graph.graphs import dense_leading, dense_normalized, random_weights
from tests.strategies import quick


def blocks(rng, sizes, between):
    """Dense symmetric weights: strong within groups, weak between them."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    scale = np.where(labels[:, None] == labels, 1.0, between)
    weights = np.triu(rng.uniform(0.2, 1, size=scale.shape) * scale, 1)
    return weights + weights.T


# --- a slow and independent form of the whole ---


def reachable(weights, nodes):
    """Connected components among some nodes, by walking from node to node."""
    left, found = list(nodes), []
    while left:
        part, front = set(), [left[0]]
        while front:
            node = front.pop()
            part.add(node)
            front += [other for other in left if other not in part and other not in front and weights[node, other] > 0]
        found.append(sorted(part))
        left = [node for node in left if node not in part]
    return found


def deepest_valley(weights, nodes, mass, least, unit):
    """Depth and place of the deepest valley that leaves ``least`` samples on either side."""
    own, size = weights[np.ix_(nodes, nodes)], sum(mass[node] for node in nodes)
    affinity, degrees = dense_normalized(own)
    walk = dense_leading(affinity, 2)[1][:, 1] / np.sqrt(degrees)
    order = sorted(range(len(nodes)), key=lambda place: walk[place])
    cuts = [sum(own[i, j] for i in order[:t] for j in order[t:]) / unit for t in range(1, len(nodes))]
    best = 0.0, 1
    for t in range(1, len(nodes)):
        passed = sum(mass[nodes[i]] for i in order[:t])
        peak = min(max(cuts[:t]), max(cuts[t - 1 :]))
        depth = 2 * (math.sqrt(peak) - math.sqrt(cuts[t - 1]))
        if least <= passed <= size - least and depth > best[0]:
            best = depth, t
    sides = [sorted(nodes[i] for i in side) for side in (order[: best[1]], order[best[1] :])]
    return best[0], sides


def slow_pieces(weights, mass, least):
    """Pieces, and (depth, threshold, sizes of the sides) of the valleys between and within them."""
    counted = weights * np.outer(mass, mass)
    unit = counted.sum() / mass.sum()

    def parts(nodes):
        return [part for part in reachable(counted, nodes) if sum(mass[part]) >= least]

    todo = parts(range(len(mass)))
    pieces, between, within = [], [(math.inf, 0.0, (0.0, sum(mass[part]))) for part in todo[1:]], []
    while todo:
        nodes = todo.pop()
        size = sum(mass[nodes])
        if size < 2 * least or len(nodes) < 4:
            pieces.append(tuple(nodes))
            continue
        depth, sides = deepest_valley(counted, nodes, mass, least, unit)
        valley = depth, math.sqrt(2 * math.log(size / least)), tuple(sorted(sum(mass[side]) for side in sides))
        if depth > valley[1]:
            between.append(valley)
            todo += [part for side in sides for part in parts(side)]
        else:
            within.append(valley)
            pieces.append(tuple(nodes))
    return pieces, between, within


def compare(valleys, expected):
    """Equal to rounding, in any order; a hill has no valley, and so no sides."""
    found = sorted((valley.depth, valley.needed, tuple(sorted(valley.sizes))) for valley in valleys)
    for one, other in zip(found, sorted(expected), strict=True):
        assert one[:2] == pytest.approx(other[:2], rel=1e-9, abs=1e-9)
        assert one[2] == other[2] or other[0] < 1e-9


@quick
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(2, 14), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.002, 0.02, 0.1, 0.5]),
    st.integers(3, 6),
    st.booleans(),
)
def test_pieces_and_valleys_equal_those_of_the_slow_form(seed, sizes, between, least, weighted):
    rng = np.random.default_rng(seed)
    weights = blocks(rng, sizes, between)
    masses = rng.integers(1, 4, size=len(weights)).astype(float) if weighted else None
    found = counting.split_at_valleys(sp.csr_array(weights), masses, least)
    mass = np.ones(len(weights)) if masses is None else masses
    pieces, valleys, left = slow_pieces(weights, mass, least)
    members = [tuple(np.flatnonzero(found.labels == label)) for label in range(found.count)]
    assert sorted(members) == sorted(pieces)
    assert found.labels.min() >= -1
    compare(found.between, valleys)
    compare(found.within, left)


@quick
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.02, 0.5]), st.booleans())
def test_stray_nodes_are_as_if_they_were_not_there(seed, between, weighted):
    rng = np.random.default_rng(seed)
    weights = blocks(rng, [9, 12, 7], between)
    masses = rng.integers(1, 4, size=28).astype(float) if weighted else None
    stray = rng.random(28) < 0.3
    left = ~stray
    found = counting.split_at_valleys(sp.csr_array(weights), masses, 4, stray)
    rest = sp.csr_array(weights[np.ix_(left, left)])
    alone = counting.split_at_valleys(rest, None if masses is None else masses[left], 4)
    np.testing.assert_array_equal(found.labels[left], alone.labels)
    np.testing.assert_array_equal(found.labels[stray], -1)
    assert (found.between, found.within) == (alone.between, alone.within)


# --- the pieces ---


@quick
@given(st.integers(0, 2**32 - 1), st.integers(2, 15))
def test_cut_profile_equals_its_definition(seed, n):
    rng = np.random.default_rng(seed)
    weights, order = random_weights(rng, n), rng.permutation(n)
    profile = counting.cut_profile(weights, order)
    dense = weights.toarray()
    direct = [dense[np.ix_(order[:t], order[t:])].sum() for t in range(1, n)]
    np.testing.assert_allclose(profile, direct, atol=1e-12)


def test_a_cut_of_nothing_is_not_below_zero():
    for seed in range(30):
        weights = blocks(np.random.default_rng(seed), [7, 6], 0.0)
        profile = counting.cut_profile(sp.csr_array(weights), np.arange(13))
        assert profile[6] >= 0
        assert profile[6] == pytest.approx(0, abs=1e-12)


@quick
@given(st.lists(st.floats(0, 100), min_size=1, max_size=20))
def test_depths_are_zero_on_a_hill_and_never_negative(cuts):
    profile = np.array(cuts)
    assert (counting.valley_depths(profile) >= 0).all()
    hill = np.concatenate([np.sort(profile), np.sort(profile)[::-1]])
    np.testing.assert_array_equal(counting.valley_depths(hill), 0)


def test_depth_of_a_known_valley():
    depths = counting.valley_depths(np.array([4.0, 16.0, 1.0, 9.0, 2.0]))
    np.testing.assert_allclose(depths, [0, 0, 2 * (3 - 1), 0, 0])


@quick
@given(st.integers(0, 2**32 - 1))
def test_nodes_are_ordered_by_the_second_eigenvector_of_the_walk(seed):
    weights = blocks(np.random.default_rng(seed), [6, 5], 0.1)
    affinity, degrees = dense_normalized(weights)
    expected = np.argsort(dense_leading(affinity, 2)[1][:, 1] / np.sqrt(degrees))
    order = counting.order_nodes(sp.csr_array(weights))
    assert order.tolist() in (expected.tolist(), expected[::-1].tolist())


def test_the_order_needs_a_few_digits_of_the_eigenvector(monkeypatch):
    asked = []
    solve = counting.eigenvectors.solve_leading
    monkeypatch.setattr(counting.eigenvectors, "solve_leading", lambda *given: asked.append(given[1:]) or solve(*given))
    counting.order_nodes(random_weights(np.random.default_rng(0), 9))
    assert asked == [(2, 1e-3)]


@quick
@given(st.integers(0, 2**32 - 1))
def test_edges_count_once_for_every_pair_of_samples(seed):
    rng = np.random.default_rng(seed)
    weights, masses = random_weights(rng, 9), rng.integers(1, 5, 9).astype(float)
    before = weights.copy()
    counted_edges = counting.scale_by_masses(weights, masses).toarray()
    np.testing.assert_allclose(counted_edges, weights.toarray() * np.outer(masses, masses), rtol=1e-12)
    np.testing.assert_array_equal(weights.data, before.data)
    assert counting.scale_by_masses(weights.astype(np.float32), masses).dtype == np.float64


# --- small graphs whose pieces are known ---


def cliques(sizes, bridge=0.0):
    """Complete groups with weights of 1, each joined to the next by one weak edge."""
    weights = sp.block_diag([sp.coo_array(np.ones((size, size)) - np.eye(size)) for size in sizes]).toarray()
    for end in np.cumsum(sizes)[:-1]:
        weights[end - 1, end] = weights[end, end - 1] = bridge
    return sp.csr_array(weights)


def test_components_count_without_a_valley():
    found = counting.split_at_valleys(cliques([10, 7]), None, 5)
    assert found.count == 2
    assert found.between == (Valley(math.inf, 0.0, (7.0, 0.0)),)
    assert np.unique(found.labels[:10]).size == np.unique(found.labels[10:]).size == 1


def test_components_of_few_samples_are_scattered_and_no_pieces():
    found = counting.split_at_valleys(cliques([6, 5, 4]), None, 5)
    assert found.count == 2
    np.testing.assert_array_equal(found.labels == -1, np.arange(15) >= 11)


def test_masses_count_as_samples():
    weights = cliques([4, 4])
    assert counting.split_at_valleys(weights, None, 5).count == 0
    assert counting.split_at_valleys(weights, np.full(8, 2.0), 5).count == 2


def test_the_threshold_is_that_of_chance():
    """Two groups of five with one weak edge: a valley of known depth against ``√(2 ln(10 / 5))``."""
    found = counting.split_at_valleys(cliques([5, 5], 0.1), None, 5)
    unit = (2 * 20 + 2 * 0.1) / 10
    (valley,) = found.between
    assert valley.depth == pytest.approx(2 * (math.sqrt(6 / unit) - math.sqrt(0.1 / unit)), rel=1e-12)
    assert valley.needed == pytest.approx(math.sqrt(2 * math.log(2)), rel=1e-12)
    assert valley.sizes == (5.0, 5.0)
    assert found.count == 2


def test_a_part_of_fewer_samples_than_two_pieces_is_left_whole():
    found = counting.split_at_valleys(cliques([5, 5], 0.1), None, 6)
    assert (found.count, found.between, found.within) == (1, (), ())


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize(("sizes", "counts"), [((12, 3), False), ((12, 4), True), ((3, 12), False), ((4, 12), True)])
def test_a_valley_too_near_to_an_end_is_none(monkeypatch, sizes, counts, turn):
    monkeypatch.setattr(counting, "order_nodes", lambda weights: np.arange(weights.shape[0])[::turn])
    (valley,) = counting.split_at_valleys(cliques(sizes, 0.1), None, 4).within
    assert (valley.depth > 0) == counts


def test_a_part_that_no_cut_can_halve_has_a_valley_of_no_depth():
    found = counting.split_at_valleys(cliques([4]), np.array([1.0, 1.0, 20.0, 1.0]), 5)
    assert (found.count, [valley.depth for valley in found.within]) == (1, [0.0])


@pytest.mark.parametrize(("n_nodes", "n_valleys"), [(1, 0), (3, 0), (4, 1)])
def test_so_few_nodes_have_no_valley(n_nodes, n_valleys):
    weights = cliques([n_nodes]) if n_nodes > 1 else sp.csr_array(np.ones((1, 1)))
    found = counting.split_at_valleys(weights, np.full(n_nodes, 10.0), 5)
    assert (found.count, len(found.within)) == (1, n_valleys)


def test_a_valley_as_deep_as_chance_makes_it_is_not_deep():
    assert not Valley(2.0, 2.0, (1.0, 1.0)).is_deep
    assert Valley(2.1, 2.0, (1.0, 1.0)).is_deep


def test_the_deepest_valley_left_is_told_as_a_share():
    valleys = (Valley(1.0, 2.0, (1.0, 1.0)), Valley(0.9, 1.2, (1.0, 1.0)))
    assert Parts(np.zeros(3, dtype=int), (), valleys).deepest_within == 0.75
    assert Parts(np.zeros(3, dtype=int), (), ()).deepest_within == 0.0
    assert Parts(np.zeros(0, dtype=int), (), ()).count == 0


# --- a second order, chosen for its valley ---


def line(cut, n=40):
    """A path of strong edges that is weak between its halves: along it the profile has one valley."""
    weights = np.zeros((n, n))
    for i in range(n - 1):
        weights[i, i + 1] = weights[i + 1, i] = cut if i == n // 2 - 1 else 1.0
    return weights


@pytest.mark.parametrize(
    ("first", "second", "needed", "chosen"),
    [
        (0.9, 1.0, 1.27, 1),  # the chosen order is nearer to its threshold
        (1.1, 1.0, 1.15, 1),  # and needs less where the eigenvector's own valley is deep
        (1.4, 0.9, 1.5, 0),
        (2.0, 1.2, 1.5, 0),  # both split; the eigenvector's order does so more clearly
        (2.0, 1.9, 1.15, 1),
    ],
)
def test_each_order_has_a_threshold_of_its_own(monkeypatch, first, second, needed, chosen):
    orders = np.arange(20), np.arange(20)[::-1]
    found = iter([(Valley(2 * first, 2.0, (8.0, 12.0)), 8), (Valley(2 * second, 2.0, (5.0, 15.0)), 5)])
    monkeypatch.setattr(counting, "order_nodes", lambda weights: orders[0])
    monkeypatch.setattr(counting, "deepest_valley", lambda *_: next(found))
    valley, sides = counting.choose_valley(sp.csr_array(line(0.1, 20)), np.ones(20), 3, -np.arange(20.0))
    assert valley.needed == pytest.approx(2 * needed)
    place = (8, 5)[chosen]
    np.testing.assert_array_equal(sides[0], orders[chosen][:place])
    np.testing.assert_array_equal(sides[1], orders[chosen][place:])


def test_a_second_order_that_says_nothing_leaves_the_first_rule(monkeypatch):
    asked = []
    alone = counting.split_at_valleys(cliques([9, 9], 0.1), None, 5)
    both = counting.split_at_valleys(cliques([9, 9], 0.1), None, 5, None, lambda nodes: asked.append(nodes.copy()))
    assert alone.between == both.between
    np.testing.assert_array_equal(alone.labels, both.labels)
    np.testing.assert_array_equal(asked[0], np.arange(18))


def test_the_second_order_finds_what_the_first_one_misses(monkeypatch):
    monkeypatch.setattr(counting, "order_nodes", lambda weights: np.arange(weights.shape[0]))
    weights = cliques([12, 12], 0.1)
    mixed = np.random.default_rng(0).permutation(24)
    shuffled = weights[mixed][:, mixed]
    assert counting.split_at_valleys(shuffled, None, 5).count == 1
    found = counting.split_at_valleys(shuffled, None, 5, None, lambda nodes: (mixed[nodes] >= 12).astype(float))
    assert found.count == 2
    assert len(set(found.labels[mixed < 12])) == len(set(found.labels[mixed >= 12])) == 1


def test_strength_is_depth_over_need():
    assert Valley(3.0, 2.0, (1.0, 1.0)).strength == 1.5
    assert Valley(math.inf, 0.0, (1.0, 1.0)).strength == math.inf
    assert Valley(3.0, 2.0, (1.0, 1.0)).needs(1.5) == Valley(3.0, 3.0, (1.0, 1.0))


def test_the_range_leaves_out_weak_valleys_and_adds_those_that_almost_split():
    def parts(between, within, n):
        made = (tuple(Valley(depth, 1.0, (5.0, 5.0)) for depth in depths) for depths in (between, within))
        return Parts(np.arange(n), *made)

    assert parts((), (), 1).range == (1, 1)
    assert parts((3.0, math.inf, 1.1), (0.5, 0.9, 0.2, 0.1), 4).range == (3, 5)
    assert parts((1.05, 1.1), (0.86, 0.84, 0.9), 3).range == (1, 5)
    assert Parts(np.zeros(0, dtype=int), (), ()).range == (1, 1)
    assert (counting.CHOSEN, counting.CONFIRMED, counting.ALONE) == (1.27, 1.15, 1.5)
    assert (counting.WEAK, counting.ALMOST) == (1.15, 0.85)
