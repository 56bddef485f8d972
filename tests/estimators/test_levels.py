"""Levels, merging and splitting: new models whose parts agree, and the model before untouched."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from afcm import AFCM, load_model, save_model
from afcm.estimators.renumbering import renumber
from afcm.graph.affinity import normalized_cut

CENTERS = np.array([[0, 0, 0], [5, 0, 0], [0, 5, 0], [40, 0, 0], [45, 0, 5], [0, 40, 0], [5, 40, 0.0]])
X, BLOBS = make_blobs(490, centers=CENTERS, random_state=0)
COARSE = np.array([0, 0, 0, 1, 1, 2, 2])[BLOBS]
NEW = X + 0.01
SIMILAR = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 8)
WEIGHTS = np.arange(len(X)) % 4.0
KINDS = {
    "neighbors": (lambda: AFCM(7, random_state=0).fit(X), X),
    "views": (lambda: AFCM(7, n_views=3, random_state=0).fit(X), X),
    "weights": (lambda: AFCM(7, random_state=0).fit(X, sample_weight=WEIGHTS), X),
    "sparse": (lambda: AFCM(7, random_state=0).fit(sp.csr_array(X)), sp.csr_array(X)),
    "float32": (lambda: AFCM(7, random_state=0).fit(X.astype(np.float32)), X.astype(np.float32)),
    "anchors": (lambda: AFCM(7, graph="anchors", n_anchors=80, random_state=0).fit(X), X),
    "given": (lambda: AFCM(7, affinity="precomputed", random_state=0).fit(SIMILAR), SIMILAR),
    "cosine": (lambda: AFCM(7, metric="cosine", random_state=0).fit(X + 60), X + 60),
    "paper": (lambda: AFCM(7, memberships="paper", noise=None, random_state=0).fit(X), X),
    "known": (lambda: AFCM(7, random_state=0).fit(X, np.where(np.arange(len(X)) % 9 == 0, BLOBS, -1)), X),
}


@pytest.fixture(scope="module")
def fits():
    found = {}

    def get(kind):
        if kind not in found:
            found[kind] = KINDS[kind][0]()
        return found[kind]

    return get


@pytest.fixture
def model(fits):
    return fits("neighbors")


def check_agreement(model, samples, *, known=True):
    """All that tells memberships tells the same; similarities that are given do not know a fitted sample again."""
    np.testing.assert_array_equal(model.labels_, model.memberships_.argmax(axis=1))
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1, rtol=1e-6)
    if known:
        np.testing.assert_allclose(model.predict_proba(samples), model.memberships_, atol=1e-6)
        np.testing.assert_array_equal(model.predict(samples), model.labels_)
    count = model.n_clusters_
    assert count == model.n_clusters == model.memberships_.shape[1] == len(model.cluster_centers_)
    assert model.paper_memberships_.shape == model.memberships_.shape
    assert len(model.levels_) == count - 1
    assert model.transform(samples).shape[1] == len(model.get_feature_names_out()) == model.embedding_.shape[1]
    assert model.memberships_.dtype == samples.dtype


@pytest.mark.parametrize("kind", KINDS)
def test_a_level_of_nested_blobs_is_the_coarse_truth_and_all_parts_agree(fits, kind):
    coarse = fits(kind).at(3)
    assert adjusted_rand_score(COARSE, coarse.labels_) == 1
    check_agreement(coarse, KINDS[kind][1], known=kind != "given")


@pytest.mark.parametrize("kind", KINDS)
def test_a_split_divides_the_memberships_of_its_cluster_alone(fits, kind):
    samples, coarse = KINDS[kind][1], fits(kind).at(3)
    group = coarse.labels_[BLOBS == 3][0]
    parts = coarse.split(group, X=samples)
    others = [j for j in range(3) if j != group]
    np.testing.assert_array_equal(parts.memberships_[:, others], coarse.memberships_[:, others])
    total = parts.memberships_[:, [group, 3]].sum(axis=1)
    np.testing.assert_allclose(total, coarse.memberships_[:, group], atol=1e-6)
    inside = COARSE == 1
    assert adjusted_rand_score(BLOBS[inside], parts.labels_[inside]) > (0.5 if kind == "cosine" else 0.97)
    check_agreement(parts, samples, known=kind != "given")


@pytest.mark.parametrize("kind", ["neighbors", "anchors", "weights"])
def test_new_samples_follow_the_parts_and_groups(fits, kind):
    coarse = fits(kind).at(3)
    parts = coarse.split(coarse.labels_[BLOBS == 3][0], X=X)
    assert (coarse.predict(NEW) == coarse.labels_).mean() > 0.99
    assert (parts.predict(NEW) == parts.labels_).mean() > 0.97
    old, new = coarse.predict_proba(NEW), fits(kind).predict_proba(NEW)
    groups = [np.flatnonzero(fits(kind).memberships_[coarse.labels_ == j].sum(axis=0) > 10) for j in range(3)]
    np.testing.assert_allclose(old, np.column_stack([new[:, group].sum(axis=1) for group in groups]), atol=1e-3)
    np.testing.assert_array_equal(coarse.outlier_scores(X), fits(kind).outlier_scores(X))
    np.testing.assert_array_equal(parts.outlier_scores_, fits(kind).outlier_scores_)


def test_halves_of_a_blob_merge_to_the_blob():
    points, blobs = make_blobs(300, centers=[[0, 0], [30, 0]], random_state=0)
    halved = AFCM(3, random_state=0).fit(points)
    halves = [j for j in range(3) if (blobs[halved.labels_ == j] == 0).all()]
    halves = halves if len(halves) == 2 else [j for j in range(3) if j not in halves]
    assert adjusted_rand_score(blobs, halved.merge(halves).labels_) == 1
    assert set(halved.levels_[0].joined) == {(j,) for j in halves}


def test_merging_adds_memberships_and_numbers_the_rest_in_order(model):
    merged, old = model.merge([4, 2]), model.memberships_
    np.testing.assert_allclose(merged.memberships_[:, 2], old[:, 2] + old[:, 4])
    np.testing.assert_array_equal(merged.memberships_[:, [0, 1, 3, 4, 5]], old[:, [0, 1, 3, 5, 6]])
    np.testing.assert_allclose(merged.paper_memberships_[:, 2], model.paper_memberships_[:, [2, 4]].sum(axis=1))
    weights = merged.paper_memberships_[:, 2] * merged._fitted.walk_graph.masses  # no duplicates: nodes are samples
    np.testing.assert_allclose(merged.cluster_centers_[2], weights @ model.embedding_ / weights.sum())


def test_parts_merged_again_are_the_cluster(model):
    again = model.split(1, into=2).merge([1, 7])
    np.testing.assert_allclose(again.memberships_, model.memberships_, atol=1e-12)
    np.testing.assert_allclose(again.predict_proba(NEW), model.predict_proba(NEW), atol=1e-12)


def test_the_model_before_is_untouched(fits):
    model = fits("views")
    before = copy.deepcopy(vars(model))
    model.at(2).split(0, into=3)
    model.merge([0, 1, 2])
    assert vars(model).keys() == before.keys()
    for name, value in before.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(model, name), value)
    assert (model.n_clusters, model._fitted.steps) == (7, ())


def test_the_tree_is_that_of_the_graph_before_sharpening_and_cuts_are_those_after():
    points = make_blobs(200, centers=[[0, 0], [4, 0], [9, 0], [13, 0]], random_state=1)[0]
    estimator = AFCM(4, random_state=0)
    prepared = estimator.prepare(points)
    model = estimator.fit(prepared)
    roots = np.sqrt(prepared.base.volumes)
    weights = roots[:, None] * prepared.base.affinity.toarray() * roots
    first = model.levels_[0]
    (a,), (b,) = first.joined
    sums = {(i, j): weights[np.ix_(model.labels_ == i, model.labels_ == j)].sum() for i in range(4) for j in range(4)}
    cuts = {
        (i, j): sums[i, j] / (sums[i, i] + sums[i, j]) + sums[i, j] / (sums[j, j] + sums[i, j])
        for i, j in sums
        if i < j
    }
    assert (a, b) == max(cuts, key=cuts.get)
    assert first.cut == pytest.approx(cuts[a, b])
    coarse = model.at(2)
    assert coarse.normalized_cut_ == pytest.approx(normalized_cut(prepared.graph, np.eye(2)[coarse.labels_]), rel=0.05)
    assert model.at(1).normalized_cut_ == pytest.approx(0, abs=1e-12)
    assert model.at(4).normalized_cut_ == pytest.approx(model.normalized_cut_)


def test_levels_tell_how_stable_the_joined_clusters_are(fits):
    model = fits("views")
    assert fits("neighbors").levels_[0].stability is None
    labels, views = model.labels_, model._fitted.views
    for level in model.levels_:
        members = [*level.joined[0], *level.joined[1]]
        own, others = np.isin(labels, members), np.isin(views, members)
        both, either = (own[:, None] & others).sum(axis=0), (own[:, None] | others).sum(axis=0)
        assert level.stability == pytest.approx((both / either).mean())
    np.testing.assert_allclose(model.at(7).stability_, model.stability_)
    np.testing.assert_allclose(model.at(7).sample_stability_, model.sample_stability_)
    assert (model.at(3).sample_stability_ >= model.sample_stability_).all()
    with pytest.raises(AttributeError, match="was split since"):
        _ = model.split(0).stability_


def test_the_table_prints_one_line_a_level(fits):
    lines = repr(fits("views").levels_).splitlines()
    assert lines[0].split() == ["clusters", "cut", "stability", "joined"]
    assert [line.split()[0] for line in lines[1:]] == ["6", "5", "4", "3", "2", "1"]
    assert "with" in lines[-1]


@pytest.mark.parametrize("kind", ["neighbors", "views", "anchors", "given", "float32", "known"])
def test_a_file_keeps_groups_and_parts(fits, kind, tmp_path):
    samples, model = KINDS[kind][1], fits(kind)
    for changed in (model, model.at(4), model.at(4).split(0).merge([1, 2])):
        loaded = load_model(save_model(changed, tmp_path / "model.afcm"))
        assert loaded.levels_ == changed.levels_
        np.testing.assert_array_equal(loaded.memberships_, changed.memberships_)
        np.testing.assert_array_equal(loaded.predict_proba(samples), changed.predict_proba(samples))
        np.testing.assert_array_equal(loaded.merge([0, 1]).labels_, changed.merge([0, 1]).labels_)
        again = pickle.loads(pickle.dumps(changed))
        np.testing.assert_array_equal(again.predict_proba(samples), changed.predict_proba(samples))


def test_a_file_of_an_older_version_has_levels():
    """The file knows no links: they are measured in the graph that it holds."""
    from tests.modelfiles.test_promise import EXAMPLE

    old = load_model(EXAMPLE)[-1]
    assert old._fitted.links is None
    assert [level.n_clusters for level in old.levels_] == [2, 1]
    assert old.at(2).memberships_.shape[1] == 2
    assert old.split(0).n_clusters_ == 4


def test_names_of_known_labels_go_along(fits):
    model = fits("known")
    assert model.merge([0, 2]).cluster_names_.tolist() == ["0 + 2", "1", "3", "4", "5", "6"]
    assert model.split(3, into=2).cluster_names_.tolist() == [*"0123456", "3"]


def test_tensors_stay_tensors():
    torch = pytest.importorskip("torch")
    tensors = torch.tensor(X)
    model = AFCM(7, random_state=0).fit(tensors)
    parts = model.at(3).split(0)
    assert all(torch.is_tensor(getattr(parts, name)) for name in ("memberships_", "labels_", "cluster_centers_"))
    np.testing.assert_allclose(parts.predict_proba(tensors).numpy(), parts.memberships_.numpy(), atol=1e-12)
    assert adjusted_rand_score(COARSE, model.at(3).labels_.numpy()) == 1


def test_a_fit_on_chunks_has_levels_and_says_why_it_has_no_more():
    da = pytest.importorskip("dask.array")
    model = AFCM(7, graph="anchors", n_anchors=80, random_state=0).fit(da.from_array(X, chunks=(200, 3)))
    whole = AFCM(7, graph="anchors", n_anchors=80, random_state=0).fit(X)
    assert sorted(level.cut for level in model.levels_) == pytest.approx(
        sorted(level.cut for level in whole.levels_), abs=0.02
    )
    for call in (lambda: model.at(3), lambda: model.merge([0, 1]), lambda: model.split(0)):
        with pytest.raises(ValueError, match="fitted on Dask's chunks"):
            call()


def test_a_clone_of_a_level_is_an_estimator_with_so_many_clusters(model):
    fresh = clone(model.at(3)).fit(X)
    assert (fresh.n_clusters, fresh._fitted.steps) == (3, ())
    assert adjusted_rand_score(COARSE, fresh.labels_) == 1


def test_a_fit_after_a_level_begins_anew():
    model = AFCM(7, random_state=0).fit(X).at(3)
    model.fit(X)
    assert (model._fitted.steps, model.memberships_.shape[1]) == ((), 3)
    with pytest.raises(ValueError, match="warm_start=True, but the fit before"):
        AFCM(7, random_state=0, warm_start=True).fit(X).at(3).fit(X)


def test_a_counted_number_becomes_a_given_one():
    counted = AFCM("auto", random_state=0).fit(X)
    coarse = counted.at(2)
    assert (counted.n_clusters, coarse.n_clusters) == ("auto", 2)
    assert hasattr(counted, "n_clusters_range_")
    assert not hasattr(coarse, "n_clusters_range_")


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (lambda model: model.at(8), "n_clusters=8 is more than the 7 of this model; use split .*, or fit again"),
        (lambda model: model.at(0), "n_clusters=0 must be at least 1"),
        (lambda model: model.at(2.5), "n_clusters=2.5 must be an integer"),
        (lambda model: model.merge([2, 9]), "clusters=9 is not a cluster of this model; use numbers from 0 to 6"),
        (lambda model: model.merge([2, -1]), "clusters=-1 must be at least 0"),
        (lambda model: model.merge([2, 2]), r"clusters=\[2, 2\] must hold two or more different numbers"),
        (lambda model: model.merge([2]), r"clusters=\[2\] must hold two or more different numbers"),
        (lambda model: model.merge(2), r"clusters=\[2\] must hold two or more different numbers"),
        (lambda model: model.merge(["a", "b"]), "clusters='a' must be an integer"),
        (lambda model: model.split(7), "cluster=7 is not a cluster of this model; use numbers from 0 to 6"),
        (lambda model: model.split(0, into=1), "into=1 must be at least 2"),
        (lambda model: model.split(0, into=50), r"cluster 0 has \d+ different samples, too few for into=50 parts"),
        (lambda model: model.split(0, X=X[:5]), "X has 5 rows, but the model was fitted on 490"),
    ],
)
def test_bad_use_ends_in_a_sentence(model, use, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        use(model)


def test_a_cluster_of_four_samples_has_two_parts():
    points = np.concatenate([X[BLOBS == 0], [[90, 90, 90], [90, 90, 91], [90, 99, 90], [90, 99, 91.0]]])
    model = AFCM(2, n_neighbors=3, random_state=0).fit(points)
    small = int(model.labels_[-1])
    parts = model.split(small).labels_[-4:]
    assert (parts[0] == parts[1], parts[2] == parts[3], parts[0] == parts[2]) == (True, True, False)
    with pytest.raises(ValueError, match=f"cluster {small} has 4 different samples, too few for into=3 parts"):
        model.split(small, into=3)


def test_samples_outside_the_graph_must_be_given(fits):
    with pytest.raises(ValueError, match=r"123 samples of the fit are not in its graph .* give the samples"):
        fits("weights").split(0)


@pytest.mark.parametrize("name", ["levels_", "at", "merge", "split"])
def test_before_a_fit_there_are_no_levels(name):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(AFCM(3), name)(2) if name != "levels_" else AFCM(3).levels_


@pytest.mark.parametrize("regroup", [lambda m: m, lambda m: m.merge([0, 3]), lambda m: m.split(2), lambda m: m.at(4)])
def test_other_numbers_change_nothing_else(fits, regroup):
    before = regroup(fits("views"))
    order = np.random.default_rng(0).permutation(before.n_clusters_)
    after = renumber(before, order)
    check_agreement(after, X)
    np.testing.assert_allclose(after.predict_proba(NEW), before.predict_proba(NEW)[:, order], atol=1e-9)
    names = np.argsort(order)

    def describe(levels, rename):
        return [(sorted(sorted(rename[list(group)]) for group in level.joined), level.stability) for level in levels]

    np.testing.assert_allclose([level.cut for level in after.levels_], [level.cut for level in before.levels_])
    told, expected = describe(after.levels_, np.arange(len(order))), describe(before.levels_, names)
    assert [groups for groups, _ in told] == [groups for groups, _ in expected]
    assert [stable for _, stable in told] == pytest.approx([stable for _, stable in expected])
    assert describe(after.merge([0, 1]).levels_, np.arange(len(order)))  # goes on from there
    check_agreement(after.merge([0, 1]), X)
