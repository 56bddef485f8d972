"""Writes the sentences of the report: numbers in, text out, an empty string if there is nothing to say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

import numpy as np

from afcm._util.messages import count_noun, format_about, format_share
from afcm.models.fitted_graph import METHOD_WORDS
from afcm.tables.coding import restore

# Up to so many clusters the sizes are listed one by one.
LISTED_SIZES = 8
# From this crispness on memberships are called nearly crisp.
NEARLY_CRISP = 0.9
# From this stability on a cluster is called stable: of the samples in it or its counterpart, half are in both.
STABLE = 0.5
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def format_number(value: float | None, digits: int = 3) -> str:
    """Write a number to read: thousands separated, powers of ten written out, – if there is none.

    >>> format_number(0.123456), format_number(1234567.0), format_number(52.0), format_number(float("nan"))
    ('0.123', '1.23 × 10⁶', '52', '–')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    if not -4 <= int(exponent) < 6:
        return f"{mantissa.replace('-', '−')} × 10{str(int(exponent)).translate(SUPERSCRIPTS)}"
    decimals = max(digits - 1 - int(exponent), 0)
    text = f"{value:,.{decimals}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def format_value(value: float | None, kind: str, digits: int = 3) -> str:
    """Write a number by its kind: a share in percent, days since 1970 as a date, 0 and 1 as no and yes.

    >>> format_value(0.482, "share"), format_value(19844.2, "date"), format_value(1, "yes/no")
    ('48 %', '2024-05-01', 'yes')
    """
    if value is None or not math.isfinite(value) or kind == "number":
        return format_number(value, digits)
    if kind == "date":
        return str(restore("date", np.array([value]))[0])[:10]
    return format_share(value) if kind == "share" else ("no", "yes")[round(value)]


def format_percent(count: int, total: int) -> str:
    """Write a share in whole percent, never 0 or 100 unless it is."""
    return format_share(count / total) if total else "100 %"


def describe_sizes(sizes: Sequence[int], *, auto: bool = False) -> str:
    """Say how many clusters there are and how large they are; ``auto``: the model counted them."""
    if len(sizes) == 1:
        found = "The model was asked to count the clusters and found no valley deeper than chance makes them. "
        return f"{found if auto else ''}One cluster: all {count_noun(sizes[0], 'sample')} are in it."
    if len(set(sizes)) == 1:
        listed = f"{count_noun(sizes[0], 'sample')} each"
    elif len(sizes) <= LISTED_SIZES:
        listed = f"{', '.join(f'{size:,}' for size in sizes[:-1])} and {sizes[-1]:,} samples"
    else:
        listed = f"{min(sizes):,} to {max(sizes):,} samples (median {median(sizes):,.0f})"
    said = f"{len(sizes):,} clusters of {listed}."
    empty = sum(size == 0 for size in sizes)
    if empty:
        said += f" {empty:,} of them {'is' if empty == 1 else 'are'} empty."
    return said + (" The number was counted by the model (n_clusters='auto')." if auto else "")


def describe_doubt(
    n_ambiguous: int, n_samples: int, pairs: Sequence[tuple[int, int, int]], *, can_doubt: bool = True
) -> str:
    """Say how many samples are ambiguous; ``pairs`` are (cluster, cluster, samples between them), most first."""
    if not can_doubt:
        return "With memberships of 0 and 1 no sample can look ambiguous, whether it is or not."
    if not n_ambiguous:
        return "No sample is ambiguous: everywhere the best membership leads the second by more than 0.5."
    verb, its = ("is", "its") if n_ambiguous == 1 else ("are", "their")
    said = (
        f"{count_noun(n_ambiguous, 'sample')} ({format_percent(n_ambiguous, n_samples)}) {verb} ambiguous: {its} best "
        "membership leads the second by no more than 0.5."
    )
    first, second, between = pairs[0]
    if n_ambiguous == 1:
        return f"{said} It lies between clusters {first} and {second}."
    share = "All of them lie" if between == n_ambiguous else f"Most often ({between:,}) they lie"
    return f"{said} {share} between clusters {first} and {second}."


def describe_background(share: float | None, n_outliers: int) -> str:
    """Say how much background the model found; ``n_outliers``: samples that are rather background than of a cluster."""
    if not share:
        return ""
    if not n_outliers:
        clear = "for no single one is that more likely than not"
    else:
        clear = f"for {n_outliers:,} that is more likely than not (outlier score of at least 0.5)"
    return (
        f"{format_about(share).capitalize()} of the samples look like background, which belongs to no cluster: {clear}."
        " They have labels and memberships like all others."
    )


def are_probabilities(method: str | None) -> bool:
    return method not in (None, "paper")


def describe_memberships(
    state: str,
    crispness: float,
    n_clusters: int,
    *,
    method: str | None = None,
    gamma: float | None = None,
    gamma_cap: float | None = None,
    embedded: bool = False,
) -> str:
    """Say what the memberships are, how soft, and why.

    ``method``: as ``AFCM.membership_method_``; ``embedded``: the model's clusters are in an embedding of the samples.
    """
    if n_clusters == 1:
        return ""
    if state == "merged":
        return (
            f"All {n_clusters} clusters merged: the memberships are the same everywhere, about 1/{n_clusters}, and the "
            "labels mean nothing. Try another start, other parameters or fewer clusters."
        )
    kind = f" {METHOD_WORDS[method]}," if method else ""
    if gamma is None or are_probabilities(method):
        because = ""
    elif gamma_cap is not None and gamma >= 0.99 * gamma_cap:
        because = f" because γ, their sharpness, ran to its cap ({format_number(gamma)})"
    else:
        place = " in the embedding" if embedded else ""
        because = f" because the clusters are narrow against their distances{place} (γ = {format_number(gamma)})"
    if state == "hard":
        sure = "by them no sample lies between clusters"
        tells = sure if are_probabilities(method) else "they tell labels, not doubt"
        return f"The memberships are{kind} all 0 or 1{because}: {tells}."
    scale = f"(crispness {crispness:.2f}, where 1 is all 0 or 1)"
    if crispness >= NEARLY_CRISP:
        return f"The memberships are{kind} nearly crisp {scale}{because}."
    return f"The memberships are{kind} soft {scale}."


def describe_stability(stability: Sequence[float]) -> str:
    """Say which clusters other graphs find again; nothing if none were compared."""
    if len(stability) < 2:
        return ""
    shaky = [number for number, value in enumerate(stability) if value < STABLE]
    if not shaky:
        return f"All clusters are stable: other graphs find them again (stability of at least {min(stability):.2f})."
    least = min(range(len(stability)), key=stability.__getitem__)
    if len(shaky) == 1:
        return f"Cluster {least} is not stable: other graphs draw it differently (stability {stability[least]:.2f})."
    return (
        f"{len(shaky):,} of {len(stability):,} clusters are not stable: other graphs draw them differently (stability "
        f"below {STABLE:g}; the lowest, {stability[least]:.2f}, has cluster {least})."
    )


def describe_convergence(converged: bool | None, n_iter: int | None, change: float | None = None) -> str:
    """Say whether the run came to rest; ``change``: the largest change of a membership in the last sweep."""
    if converged is None or n_iter is None:
        return ""
    sweeps = count_noun(n_iter, "sweep")
    if converged:
        return f"The run converged after {sweeps}."
    moving = "" if change is None else f", memberships still changed by {format_number(change)}"
    return f"The run did not converge: stopped after {sweeps}{moving}. Raise max_iter or tol."


def describe_components(n_components: int | None, n_clusters: int, *, joins: bool = True) -> str:
    """Say whether the graph falls apart; ``joins``: the method joins pieces if there are more than clusters."""
    if n_components is None or n_components < 2:
        return ""
    said = f"The neighbor graph falls into {n_components:,} pieces with no edge between them"
    if n_components <= n_clusters:
        return f"{said}."
    if joins:
        return f"{said}, more than clusters: pieces near each other were joined."
    return f"{said}, more than clusters: the labels are partly arbitrary. Use more neighbors."


def describe_scores(accuracy: float, nmi: float, ari: float, n_known: int, n_samples: int) -> str:
    """Say how the labels agree with known classes, which the fit did not see."""
    of_them = "" if n_known == n_samples else f" (the {n_known:,} of {n_samples:,} samples that have one)"
    return (
        f"Compared afterwards with the known classes{of_them}, which the fit never saw: accuracy {accuracy:.1%}, "
        f"NMI {nmi:.2f}, ARI {ari:.2f}."
    ).replace("%", " %")


def describe_sampling(n_shown: int, n_samples: int, shown_ambiguous: int, n_ambiguous: int) -> str:
    if n_shown == n_samples:
        return ""
    doubtful = f"all {n_ambiguous:,}" if shown_ambiguous == n_ambiguous else f"{shown_ambiguous:,} of {n_ambiguous:,}"
    ambiguous = f" and {doubtful} ambiguous ones" if n_ambiguous else ""
    return (
        f"Picture and table show {n_shown:,} of {n_samples:,} samples, drawn at random, with samples of every cluster"
        f"{ambiguous} among them. All other numbers are of all samples."
    )
