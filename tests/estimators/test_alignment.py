"""`afcm.align`: numbers of clusters that stay from one fit to the next."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from afcm import AFCM, FCM, GeneralizedGaussianMixture, PlainAFCM, align, load_model, save_model
from afcm.baselines import CDKM, FCAG, FKPS, RSFKM, SpectralBaseline
from afcm.estimators.alignment import align_memberships, assign_numbers, count_labels, find_same
from afcm.estimators.renumbering import renumber

many = settings(max_examples=80, deadline=None, derandomize=True)
PLACES = {"a": (0, 0), "b": (9, 0), "c": (0, 9), "d": (9, 9), "e": (20, 20)}


def blobs(names, n=40, seed=0):
    """Samples about some of five places."""
    random = np.random.default_rng(seed)
    return np.concatenate([random.standard_normal((n, 2)) + PLACES[name] for name in names])


def at(names):
    return np.array([PLACES[name] for name in names], dtype=float)


def changes(aligned):
    return [(row["old"], row["new"], row["change"]) for row in aligned.table]


def draw_memberships(seed, n_clusters, n=30):
    """Memberships of samples, hard ones if the seed is even."""
    random = np.random.default_rng(seed)
    soft = random.dirichlet(np.full(n_clusters, 0.3), size=n)
    return soft if seed % 2 else np.eye(n_clusters)[soft.argmax(axis=1)]


def pair_slowly(new, old):
    """Every way is tried: the old number of each new cluster (−1: none) with the least squared differences."""
    n_new, n_old = new.shape[1], old.shape[1]
    ways = {tuple(j if j < n_old else -1 for j in way[:n_new]) for way in permutations(range(max(n_new, n_old)))}

    def difference(way):
        pairs = sum(
            ((new[:, k] - old[:, j]) ** 2).sum() if j >= 0 else (new[:, k] ** 2).sum() for k, j in enumerate(way)
        )
        return pairs + sum((old[:, j] ** 2).sum() for j in range(n_old) if j not in way)

    best, *others = sorted(ways, key=difference)
    assume(not others or difference(others[0]) > difference(best) + 1e-9)
    return best


@many
@given(st.integers(0, 999), st.integers(1, 5), st.integers(1, 5))
def test_pairs_are_those_of_the_least_squared_differences(seed, n_new, n_old):
    new, old = draw_memberships(seed, n_new), draw_memberships(seed + 1000, n_old)
    slow = pair_slowly(new, old)
    labels = old.argmax(axis=1), new.argmax(axis=1)
    for k, j in enumerate(find_same(new, old, count_labels(new, old))):
        both, either = (labels[0] == slow[k]) & (labels[1] == k), (labels[0] == slow[k]) | (labels[1] == k)
        is_same = slow[k] >= 0 and (not either.any() or both.sum() >= either.sum() / 3)
        assert j == (slow[k] if is_same else -1)


@many
@given(st.integers(0, 999), st.integers(1, 6), st.integers(1, 6))
def test_numbers_are_whole_and_as_many_as_can_be_are_kept(seed, n_new, n_old):
    random = np.random.default_rng(seed)
    before = np.full(n_new, -1)
    n_same = random.integers(min(n_new, n_old) + 1)
    before[random.permutation(n_new)[:n_same]] = random.permutation(n_old)[:n_same]
    sizes = random.integers(9, size=n_new)
    numbers = assign_numbers(before, sizes)
    assert sorted(numbers) == list(range(n_new))
    kept = [
        way for way in permutations(range(n_new)) if all(way[k] == j for k, j in enumerate(before) if 0 <= j < n_new)
    ]
    assert tuple(numbers) in kept
    moved, new = np.flatnonzero(before >= n_new), np.flatnonzero(before < 0)
    assert max(numbers[moved], default=-1) < min(numbers[new], default=n_new)
    assert (np.diff(sizes[new[np.argsort(numbers[new])]]) <= 0).all()


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: AFCM(4, random_state=seed),
        lambda seed: AFCM(4, graph="anchors", n_anchors=40, random_state=seed),
        lambda seed: AFCM(4, memberships="paper", init="random", random_state=seed),
        lambda seed: PlainAFCM(4, random_state=seed),
        lambda seed: FCM(4, random_state=seed),
        lambda seed: GeneralizedGaussianMixture(4, random_state=seed),
        lambda seed: CDKM(4, init="k-means++", random_state=seed),
        lambda seed: FCAG(4, init="k-means", random_state=seed),
        lambda seed: RSFKM(4, n_init=5, random_state=seed),
        lambda seed: FKPS(4, init="k-means", random_state=seed),
        lambda seed: make_pipeline(StandardScaler(), PlainAFCM(4, random_state=seed)),
    ],
)
def test_a_fit_of_the_same_samples_in_another_order_gets_the_same_numbers(make):
    X = blobs("abcd")
    old = make(0).fit(X)
    labels = old.predict(X)
    assert len(set(labels)) == 4
    for seed in (1, 2):
        order = np.random.default_rng(seed).permutation(len(X))
        new = align(make(seed).fit(X[order]), old, X)
        np.testing.assert_array_equal(new.model.predict(X), labels)
        assert changes(new) == [(j, j, "kept") for j in range(4)]
        assert [row["share_kept"] for row in new.table] == [1.0] * 4


def test_without_x_rows_are_compared_as_they_are():
    X = blobs("abc")
    old = SpectralBaseline(3, random_state=0).fit(X)
    new = align(PlainAFCM(3, random_state=1).fit(X), old)
    np.testing.assert_array_equal(new.model.labels_, old.labels_)
    with pytest.raises(ValueError, match="old is a SpectralBaseline, which places no samples; leave X out"):
        align(new.model, old, X)


def test_a_new_cluster_gets_a_number_after_the_old_ones():
    old = PlainAFCM(3, init=at("bca")).fit(blobs("bca"))
    new = align(PlainAFCM(4, init=at("eabc")).fit(blobs("abce", seed=1)), old, blobs("abce", seed=1))
    assert changes(new) == [(0, 0, "kept"), (1, 1, "kept"), (2, 2, "kept"), (None, 3, "new")]
    np.testing.assert_allclose(new.model.cluster_centers_, at("bcae"), atol=1)
    assert new.table[3]["samples_after"] == 40
    assert str(new).splitlines()[3].startswith("3: new, 40 samples, most of them in ")


def test_a_cluster_that_is_gone_leaves_its_number_to_the_last():
    old = PlainAFCM(4, init=at("abcd")).fit(blobs("abcd"))
    X = blobs("acd", seed=1)
    new = align(PlainAFCM(3, init=at("dca")).fit(X), old, X)
    assert changes(new) == [(0, 0, "kept"), (1, None, "gone"), (2, 2, "kept"), (3, 1, "moved")]
    np.testing.assert_allclose(new.model.cluster_centers_, at("adc"), atol=1)
    lines = str(new).splitlines()
    assert lines[1] == "1: gone, 0 samples"
    assert lines[3] == "3: 1 now, with 100 % of its 40 samples; 40 now"


def test_one_gone_and_one_new_are_told_apart_though_they_have_one_number():
    old = PlainAFCM(3, init=at("abe")).fit(blobs("abe"))
    X = blobs("abc", seed=1)
    new = align(PlainAFCM(3, init=at("cba")).fit(X), old, X)
    assert changes(new) == [(0, 0, "kept"), (1, 1, "kept"), (2, None, "gone"), (None, 2, "new")]
    assert new.table[3]["mostly"] == 0  # c is nearer to a than to e


def test_two_that_became_one():
    old = PlainAFCM(3, init=at("abe")).fit(blobs("abe"))
    X = blobs("aabe")
    new = align(PlainAFCM(2, init=np.array([[20.0, 20.0], [3.0, 0.0]])).fit(X), old, X)
    assert changes(new) == [(0, 0, "kept"), (1, None, "gone"), (2, 1, "moved")]
    assert new.table[1]["mostly"] == 0
    assert new.table[0]["samples_after"] == 120


def test_the_new_model_is_not_changed_and_the_aligned_one_can_be_saved(tmp_path):
    X = blobs("abcd")
    old, new = AFCM(4, random_state=0).fit(X), renumber(AFCM(4, random_state=1).fit(X), [3, 1, 0, 2])
    before = new.memberships_.copy()
    aligned = align(new, old).model
    np.testing.assert_array_equal(new.memberships_, before)
    again = load_model(save_model(aligned, tmp_path / "model.afcm"))
    np.testing.assert_array_equal(again.predict(X), old.labels_)


def test_labels_of_soft_memberships_say_what_is_kept():
    """Memberships that are almost the same everywhere: columns are matched by the little that they differ."""
    random = np.random.default_rng(0)
    old = 1 / 3 + 0.02 * np.eye(3)[random.integers(3, size=60)]
    old /= old.sum(axis=1, keepdims=True)
    X = blobs("abc", n=20)
    model = PlainAFCM(3, random_state=0).fit(X)
    model.memberships_ = old[:, [1, 2, 0]]
    aligned = align_memberships(model, model.memberships_, old)
    np.testing.assert_array_equal(aligned.model.memberships_, old)
    assert [row["share_kept"] for row in aligned.table] == [1.0] * 3


def test_bad_use_ends_in_a_sentence():
    X = blobs("ab")
    fitted, wide = PlainAFCM(2, random_state=0).fit(X), PlainAFCM(2, random_state=0).fit(np.c_[X, X])
    with pytest.raises(NotFittedError, match="old is a PlainAFCM that is not fitted; call its fit first"):
        align(fitted, PlainAFCM(2))
    with pytest.raises(NotFittedError, match="new is a AFCM that is not fitted"):
        align(make_pipeline(StandardScaler(), AFCM(2)), fitted, X)
    with pytest.raises(ValueError, match="old is a KMeans, which has no memberships_; give a fitted estimator of afcm"):
        align(fitted, KMeans(2, n_init=1).fit(X))
    with pytest.raises(ValueError, match="new was fitted to 2 features and old to 4, so that no X suits both"):
        align(fitted, wide, X)
    with pytest.raises(ValueError, match="new was fitted to 80 samples, old to 79; give X, samples that both place"):
        align(fitted, PlainAFCM(2, random_state=0).fit(X[1:]))
    assert changes(align(fitted, wide)) == [(0, 0, "kept"), (1, 1, "kept")]
