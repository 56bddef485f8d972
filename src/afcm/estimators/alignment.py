"""Numbers of clusters that stay from one fit to the next."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from afcm._typing import Integers
from afcm._util.messages import count_noun, format_share
from afcm._util.pipelines import last_step
from afcm.arrays import to_host
from afcm.estimators.base import hard_labels
from afcm.estimators.renumbering import renumber
from afcm.models.agreement import count_common, match_clusters, overlap_matched

# Two clusters are the same one if they share at least this part of the samples in either: it is what two clusters of
# one size have that share half of their samples.
SAME = 1 / 3


@dataclass(frozen=True)
class Alignment:
    """A model with the cluster numbers of an older one, and what became of each cluster.

    Attributes
    ----------
    model : estimator or Pipeline
        The new model under other numbers. Nothing else about it is changed.
    table : list of dict
        One for each cluster of either model. ``old``, ``new``: its numbers, None where it has none. ``change``:
        ``"kept"``, ``"moved"`` (the same cluster under another number), ``"new"`` or ``"gone"``. ``samples_before``,
        ``samples_after``: how many samples the old and the new model put there. ``share_kept``: the share of the
        former that are among the latter. ``mostly``: for a new cluster the old one, and for one that is gone the new
        one, with which it shares most samples; None if with none.

    Examples
    --------
    >>> from afcm import AFCM, align
    >>> from afcm.datasets import make_rings
    >>> X, _ = make_rings(random_state=0)
    >>> old = AFCM(3, random_state=0).fit(X)
    >>> aligned = align(AFCM(3, random_state=1).fit(X[::-1]), old, X)
    >>> bool((aligned.model.predict(X) == old.labels_).all())
    True
    >>> print(aligned)
    0: kept, with 100 % of its 300 samples; 300 now
    1: kept, with 100 % of its 300 samples; 300 now
    2: kept, with 100 % of its 300 samples; 300 now
    """

    model: Any
    table: list[dict[str, Any]]

    def __str__(self) -> str:
        return "\n".join(map(describe_change, self.table))


def align(new: Any, old: Any, X: Any = None) -> Alignment:
    """Give the clusters of a new fit the numbers that they had in an old one.

    Clusters are matched so that the squared differences of both models' memberships are least. A matched pair is the
    same cluster if it shares at least a third of the samples in either.

    Parameters
    ----------
    new : fitted estimator of afcm or afcm.baselines, or a Pipeline that ends in one
        It is not changed.
    old : the same
        Its class and its number of clusters may be others.
    X : array (n_samples, n_features), optional
        Samples that both models place, best those of the new fit. Default: both were fitted to the same samples in the
        same order, and their ``memberships_`` are compared.

    Returns
    -------
    Alignment
        ``model``, a new model, and ``table``, what became of each cluster. As numbers go from 0 to n_clusters − 1, a
        new cluster has the first number that is free, and of fewer clusters than before those whose number is too large
        have moved to one that became free.

    Raises
    ------
    ValueError
        If a model is not fitted or has no memberships, or the models cannot be compared.

    Examples
    --------
    >>> import numpy as np
    >>> from afcm import PlainAFCM, align
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    >>> yesterday = PlainAFCM(2, random_state=0).fit(X[:4])
    >>> today = align(PlainAFCM(3, random_state=1).fit(X), yesterday, X)
    >>> [row["change"] for row in today.table]
    ['kept', 'kept', 'new']
    >>> bool((today.model.predict(X[:4]) == yesterday.labels_).all())
    True
    """
    for model, name in ((new, "new"), (old, "old")):
        check_model(model, name, needs_places=X is not None)
    check_samples(new, old, X)
    if X is None:
        return align_memberships(new, last_step(new).memberships_, last_step(old).memberships_)
    return align_memberships(new, new.predict_proba(X), old.predict_proba(X))


def check_model(model: Any, name: str, *, needs_places: bool) -> None:
    """Refuse a model without memberships, or one that cannot place samples where it has to."""
    estimator = last_step(model)
    kind = type(estimator).__name__
    if not hasattr(estimator, "memberships_"):
        if hasattr(estimator, "n_clusters") and not hasattr(estimator, "labels_"):
            raise NotFittedError(f"{name} is a {kind} that is not fitted; call its fit first")
        raise ValueError(f"{name} is a {kind}, which has no memberships_; give a fitted estimator of afcm")
    if needs_places and not hasattr(estimator, "predict_proba"):
        raise ValueError(f"{name} is a {kind}, which places no samples; leave X out if both saw the same samples")


def check_samples(new: Any, old: Any, X: Any) -> None:
    """Refuse models that did not see the same samples (X is None), or whose samples have not the same columns."""
    if X is None:
        after, before = (last_step(model).memberships_.shape[0] for model in (new, old))
        if after != before:
            raise ValueError(
                f"new was fitted to {count_noun(after, 'sample')}, old to {before:,}; give X, samples that both place"
            )
        return
    after, before = (getattr(model, "n_features_in_", None) for model in (new, old))
    if after != before:
        raise ValueError(
            f"new was fitted to {after} features and old to {before}, so that no X suits both; fit the same columns, "
            "or leave X out if both saw the same samples"
        )


def align_memberships(model: Any, new: Any, old: Any) -> Alignment:
    """Renumber a fitted model by its memberships and those of an old one, of the same samples."""
    new, old = to_host(new), to_host(old)
    common = count_labels(new, old)
    before = find_same(new, old, common)
    order = np.argsort(assign_numbers(before, common.sum(axis=0)))
    return Alignment(renumber_last_step(model, order), list_changes(before[order], common[:, order]))


def renumber_last_step(model: Any, order: Integers) -> Any:
    """A copy of an estimator, or of a pipeline that ends in one, under other numbers."""
    if not hasattr(model, "steps"):
        return renumber(model, order)
    changed = copy(model)
    changed.steps = [*model.steps[:-1], (model.steps[-1][0], renumber(model.steps[-1][1], order))]
    return changed


def count_labels(new: Any, old: Any) -> Integers:
    """Samples in old cluster i and new cluster j, by their largest memberships."""
    n_most = max(new.shape[1], old.shape[1])
    common = count_common(hard_labels(old), hard_labels(new), n_most)
    return common[: old.shape[1], : new.shape[1]].astype(np.intp)


def find_same(new: Any, old: Any, common: Integers) -> Integers:
    """The old number of each new cluster; −1 for one that was not there.

    Of all ways to pair clusters, ``Σ u_ij v_ik`` over the pairs is largest where the squared differences of their
    memberships, 0 in place of those that a cluster without partner lacks, are least.
    """
    n_most = max(common.shape)
    shared, counts = np.zeros((n_most, n_most)), np.zeros((n_most, n_most))
    shared[: common.shape[0], : common.shape[1]] = multiply(old, new)
    counts[: common.shape[0], : common.shape[1]] = common
    matched = match_clusters(shared)
    same = overlap_matched(counts, matched) >= SAME
    found = np.full(n_most, -1)
    found[matched[: common.shape[0]]] = np.where(same, np.arange(n_most), -1)[: common.shape[0]]
    return found[: common.shape[1]]


def multiply(old: Any, new: Any) -> Any:
    """``Σ_i u_ij v_ik`` of memberships in either form."""
    product = old.T @ new
    return product.toarray() if sparse.issparse(product) else product


def assign_numbers(before: Integers, sizes: Integers) -> Integers:
    """A number from 0 to c − 1 for each cluster: the one it had, if that is below c.

    The other clusters take those that are left, first the ones that had a larger number, then new ones by size.
    """
    n_clusters = len(before)
    numbers = np.where(before < n_clusters, before, -1)
    free = np.setdiff1d(np.arange(n_clusters), numbers)
    waiting = np.flatnonzero(numbers < 0)
    waiting = waiting[np.lexsort((-sizes[waiting], before[waiting], before[waiting] < 0))]
    numbers[waiting] = free
    return numbers


def list_changes(before: Integers, common: Integers) -> list[dict[str, Any]]:
    """The table of changes: old clusters, then new ones; ``before`` are the old numbers of the new clusters."""
    after = {int(old): new for new, old in enumerate(before)}
    rows = [describe_cluster(old, after.get(old), common) for old in range(len(common))]
    return rows + [describe_cluster(None, new, common) for new, old in enumerate(before) if old < 0]


def describe_cluster(old: int | None, new: int | None, common: Integers) -> dict[str, Any]:
    """A row of the table of changes."""
    n_before = 0 if old is None else int(common[old].sum())
    n_after = 0 if new is None else int(common[:, new].sum())
    row: dict[str, Any] = {"old": old, "new": new}
    if old is None:
        row |= {"change": "new", "share_kept": 0.0, "mostly": find_most(common[:, new])}
    elif new is None:
        row |= {"change": "gone", "share_kept": 0.0, "mostly": find_most(common[old])}
    else:
        share = int(common[old, new]) / n_before if n_before else 1.0
        row |= {"change": "kept" if old == new else "moved", "share_kept": share, "mostly": None}
    return row | {"samples_before": n_before, "samples_after": n_after}


def find_most(counts: Integers) -> int | None:
    return int(counts.argmax()) if counts.any() else None


def describe_change(row: dict[str, Any]) -> str:
    """A line about one cluster."""
    before, after = (count_noun(row[name], "sample") for name in ("samples_before", "samples_after"))
    if row["change"] == "new":
        mostly = "" if row["mostly"] is None else f", most of them in {row['mostly']} before"
        return f"{row['new']}: new, {after}{mostly}"
    if row["change"] == "gone":
        mostly = "" if row["mostly"] is None else f", most of them in {row['mostly']} now"
        return f"{row['old']}: gone, {before}{mostly}"
    number = f"{row['old']}: kept" if row["change"] == "kept" else f"{row['old']}: {row['new']} now"
    return f"{number}, with {format_share(row['share_kept'])} of its {before}; {row['samples_after']:,} now"
