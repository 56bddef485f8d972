"""Weighs the count of the graph's pieces against the criteria: how many agree, and which other answer competes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from afcm.graph.counting import Parts

# Criteria that look at the graph and at no shape of clusters.
OF_THE_GRAPH = ("eigengap", "stability")
# So many criteria for one other number are an answer of their own; against a graph without clusters it takes more, as
# half of the criteria cannot say 1.
COMPETING, COMPETING_WITH_NONE = 3, 4
# So many, one of them of the graph, outweigh pieces whose shallowest valley is less than SHALLOW standard deviations
# deeper than chance reaches, and with both of the graph a graph that is one piece.
MAJORITY, SHALLOW = 4, 1.0


class Weighed(NamedTuple):
    """A number of clusters with its reason, the number that competes with it (or None), and who agrees, in words."""

    n_clusters: int
    reason: str
    alternative: int | None
    agreement: str


def weigh_criteria(counted: int, reason: str, parts: Parts, votes: Mapping[str, int], largest: int) -> Weighed:
    """Decide between the number of the graph's pieces and the number that most criteria choose.

    ``largest``: the largest number looked at. A criterion that chooses it has found no best one and does not compete.
    """
    backing = [name for name, vote in votes.items() if vote == counted]
    others = {name: vote for name, vote in votes.items() if vote not in (counted, largest)}
    rival, behind = find_rival(others)
    said = f"{count_criteria(backing, votes)} {counted}"
    needed = COMPETING if parts.count > 1 else COMPETING_WITH_NONE
    if rival is None or len(behind) < max(needed, len(backing) + 1):
        return Weighed(counted, reason, None, said)
    against = f"{count_criteria(behind, votes)} {rival} ({', '.join(behind)})"
    if outweighs(behind, parts):
        why = f"{against}, and they outweigh the count of the graph: {reason}"
        return Weighed(rival, why, counted, f"two answers compete, {rival} and {counted}: {said}")
    return Weighed(counted, reason, rival, f"two answers compete, {counted} and {rival}: {said}, {against}")


def outweighs(behind: list[str], parts: Parts) -> bool:
    """Whether the criteria for another number weigh more than the pieces of the graph, or than there being none."""
    of_graph = [name for name in OF_THE_GRAPH if name in behind]
    if len(behind) < MAJORITY or not of_graph:
        return False
    return measure_margin(parts) < SHALLOW if parts.count > 1 else len(of_graph) == len(OF_THE_GRAPH)


def find_rival(votes: Mapping[str, int]) -> tuple[int | None, list[str]]:
    """Return the number with the most votes, the smallest of several, and who votes for it."""
    if not votes:
        return None, []
    numbers = sorted(set(votes.values()))
    best = max(numbers, key=lambda number: (list(votes.values()).count(number), -number))
    return best, [name for name, vote in votes.items() if vote == best]


def count_criteria(names: list[str], votes: Mapping[str, int]) -> str:
    """``4 of 6 criteria say``, with a verb that fits."""
    return f"{len(names) or 'none'} of {len(votes)} criteria {'says' if len(names) == 1 else 'say'}"


def measure_margin(parts: Parts) -> float:
    """How much deeper than chance the shallowest valley between pieces is, in standard deviations."""
    return min((valley.depth - valley.needed for valley in parts.between), default=math.inf)
