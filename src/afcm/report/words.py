"""What the report says in words: numbers in, sentences out, an empty string where there is nothing to say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from afcm._util.messages import count_noun

# Up to so many clusters the sizes are listed one by one.
LISTED_SIZES = 8
# From this crispness on memberships are called nearly crisp.
NEARLY_CRISP = 0.9
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 3) -> str:
    """A number to read: thousands separated, powers of ten written out, – where there is none.

    >>> number(0.123456), number(1234567.0), number(52.0), number(float("nan"))
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


def percent(count: int, total: int) -> str:
    """A share in whole percent, never 0 or 100 unless it is."""
    share = 100 * count / total if total else 0.0
    if 0 < share < 0.5:
        return "under 1 %"
    return f"{min(round(share), 99) if count < total else 100} %"


def listed(items: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def of_sizes(sizes: Sequence[int], *, auto: bool = False) -> str:
    """How many clusters, and how large; ``auto``: the model counted them."""
    if len(sizes) == 1:
        found = "The model was asked to count the clusters and found no valley deeper than chance makes them. "
        return f"{found if auto else ''}One cluster: all {count_noun(sizes[0], 'sample')} are in it."
    said = f"{len(sizes):,} clusters of {_size_list(sizes)}."
    empty = sum(size == 0 for size in sizes)
    if empty:
        said += f" {empty:,} of them {'is' if empty == 1 else 'are'} empty."
    return said + (" The number was counted by the model (n_clusters='auto')." if auto else "")


def _size_list(sizes: Sequence[int]) -> str:
    if len(set(sizes)) == 1:
        return f"{count_noun(sizes[0], 'sample')} each"
    if len(sizes) <= LISTED_SIZES:
        return f"{listed([f'{size:,}' for size in sizes])} samples"
    return f"{min(sizes):,} to {max(sizes):,} samples (median {median(sizes):,.0f})"


def of_doubt(n_ambiguous: int, n_samples: int, pairs: Sequence[tuple[int, int, int]], *, can_doubt: bool = True) -> str:
    """How many samples are ambiguous and where; ``pairs`` are (cluster, cluster, samples between them), most first."""
    if not can_doubt:
        return "With memberships of 0 and 1 no sample can look ambiguous, whether it is or not."
    if not n_ambiguous:
        return "No sample is ambiguous: everywhere the best membership leads the second by more than 0.5."
    verb, its = ("is", "its") if n_ambiguous == 1 else ("are", "their")
    said = (
        f"{count_noun(n_ambiguous, 'sample')} ({percent(n_ambiguous, n_samples)}) {verb} ambiguous: {its} best "
        "membership leads the second by no more than 0.5."
    )
    first, second, between = pairs[0]
    if n_ambiguous == 1:
        return f"{said} It lies between clusters {first} and {second}."
    share = "All of them lie" if between == n_ambiguous else f"Most often ({between:,}) they lie"
    return f"{said} {share} between clusters {first} and {second}."


def of_memberships(
    state: str,
    crispness: float,
    n_clusters: int,
    *,
    gamma: float | None = None,
    gamma_cap: float | None = None,
    embedded: bool = False,
) -> str:
    """How soft the model's own memberships are, and why; ``embedded``: they are of an embedding of the samples."""
    if n_clusters == 1:
        return ""
    if state == "merged":
        return (
            f"All {n_clusters} clusters merged: the memberships are the same everywhere, about 1/{n_clusters}, and the "
            "labels mean nothing. Try another start, other parameters or fewer clusters."
        )
    because = _reason(gamma, gamma_cap, " in the embedding" if embedded else "")
    if state == "hard":
        return f"The model's own memberships are all 0 or 1{because}: they tell labels, not doubt."
    scale = f"(crispness {crispness:.2f}, where 1 is all 0 or 1)"
    if crispness >= NEARLY_CRISP:
        return f"The model's own memberships are nearly crisp {scale}{because}."
    return f"The model's own memberships are soft {scale}."


def _reason(gamma: float | None, gamma_cap: float | None, where: str) -> str:
    if gamma is None:
        return ""
    if gamma_cap is not None and gamma >= 0.99 * gamma_cap:
        return f" because γ, their sharpness, ran to its cap ({number(gamma)})"
    return f" because the clusters are narrow against their distances{where} (γ = {number(gamma)})"


def of_calibration(n_moved: int) -> str:
    """What tells doubt instead of a graph model's own memberships."""
    said = (
        "Doubt is told by calibrated memberships instead, the model's own after a random walk over the neighbour "
        "graph: they are mixed where neighbours are in other clusters."
    )
    if not n_moved:
        return said
    return f"{said} For {count_noun(n_moved, 'sample')} they favour another cluster than the label."


def of_convergence(converged: bool | None, n_iter: int | None, change: float | None = None) -> str:
    """Whether the run came to rest; ``change``: the largest change of a membership in the last sweep."""
    if converged is None or n_iter is None:
        return ""
    sweeps = count_noun(n_iter, "sweep")
    if converged:
        return f"The run converged after {sweeps}."
    moving = "" if change is None else f", memberships still changed by {number(change)}"
    return f"The run did not converge: stopped after {sweeps}{moving}. Raise max_iter or tol."


def of_components(n_components: int | None, n_clusters: int, *, joins: bool = True) -> str:
    """Graphs that fall apart; ``joins``: the method joins pieces where there are more than clusters."""
    if n_components is None or n_components < 2:
        return ""
    said = f"The neighbour graph falls into {n_components:,} pieces with no edge between them"
    if n_components <= n_clusters:
        return f"{said}."
    if joins:
        return f"{said}, more than clusters: pieces near each other were joined."
    return f"{said}, more than clusters: the labels are partly arbitrary. Use more neighbours."


def of_scores(accuracy: float, nmi: float, ari: float, n_known: int, n_samples: int) -> str:
    """Agreement with known classes, and that the fit did not see them."""
    of_them = "" if n_known == n_samples else f" (the {n_known:,} of {n_samples:,} samples that have one)"
    return (
        f"Compared afterwards with the known classes{of_them}, which the fit never saw: accuracy {accuracy:.1%}, "
        f"NMI {nmi:.2f}, ARI {ari:.2f}."
    ).replace("%", " %")


def of_sampling(n_shown: int, n_samples: int, shown_ambiguous: int, n_ambiguous: int) -> str:
    """That picture and table show a part of the samples, and which."""
    if n_shown == n_samples:
        return ""
    doubtful = f"all {n_ambiguous:,}" if shown_ambiguous == n_ambiguous else f"{shown_ambiguous:,} of {n_ambiguous:,}"
    ambiguous = f" and {doubtful} ambiguous ones" if n_ambiguous else ""
    return (
        f"Picture and table show {n_shown:,} of {n_samples:,} samples, drawn at random, with samples of every cluster"
        f"{ambiguous} among them. All other numbers are of all samples."
    )
