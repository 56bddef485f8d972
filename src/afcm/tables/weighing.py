"""How much each column counts: what is said twice counts once, and a category as far as others bear it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from afcm._typing import Floats
from afcm._util.messages import format_share
from afcm.tables.coding import ColumnCode
from afcm.tables.relations import measure_sameness, neighbor_agreement

# Squared distances are compared between columns of no more than this many coordinates together.
MOST_COORDINATES = 500
# A discrete column that would count less than this is left out; one that counts less than half is worth a remark.
LEAST, NOTABLE = 0.01, 0.5
# Fewer rows than this do not show which columns go together.
FEW_ROWS = 20
# How often agreements are measured, each time with the weights found before.
ROUNDS = 2


def weigh_codes(
    codes: list[ColumnCode], blocks: list[Floats], given: Mapping[str, Any], *, related: bool
) -> list[ColumnCode]:
    """Set the weight of every column that is not left out; ``blocks`` are their coordinates without missing values.

    Columns that say the same share one weight. A discrete column has values with gaps between them and so cuts every
    group into as many parts, however small its distances are; ``related``: its coordinates are multiplied by
    `neighbor_agreement` with the other columns, unless its weight is given.
    """
    comparable = sum(block.shape[1] for block in blocks) <= MOST_COORDINATES and blocks[0].shape[0] >= FEW_ROWS
    sameness = measure_sameness(blocks) if comparable else np.eye(len(blocks))
    shares = 1 / sameness.sum(axis=1)
    judged = [j for j, code in enumerate(codes) if related and code.is_discrete and code.name not in given]
    agreements = measure_agreements(blocks, judged, sameness)
    weighed = []
    for j, code in enumerate(codes):
        weight = float(given.get(code.name, 1) * shares[j] * agreements[j] ** 2)
        alike = np.flatnonzero(sameness[j])  # itself among them; said once, by the first
        same = [codes[k].name for k in alike if k > j] if alike[0] == j else []
        weighed.append(remark_on(replace(code, weight=weight), float(agreements[j]), same))
    return weighed


def measure_agreements(blocks: list[Floats], judged: list[int], sameness: Floats) -> Floats:
    """Return how far the other columns bear out each of those ``judged``, 1 for the rest.

    A column is not borne out by one that says the same. Columns by chance among the others would hide who is near
    whom, so all are measured again with the others multiplied by their agreement.
    """
    agreements = np.ones(len(blocks))
    if blocks[0].shape[0] < FEW_ROWS:
        return agreements
    for _ in range(ROUNDS):
        before = agreements.copy()
        for j in judged:
            others = [before[k] * blocks[k] for k in range(len(blocks)) if sameness[j, k] == 0]
            agreements[j] = neighbor_agreement(blocks[j], np.hstack(others)) if others else 1.0
    if (agreements**2 < LEAST).all():  # nothing but categories that have nothing to do with each other
        agreements[:] = 1
    return agreements


def remark_on(code: ColumnCode, agreement: float, same: list[str]) -> ColumnCode:
    """Add what a user should know about the weight; leave a column out that agrees with nothing."""
    if code.weight == 0:
        return code.leave_out(f"column {code.name!r} has weight 0; left out")
    if agreement**2 < LEAST:
        return code.leave_out(
            f"column {code.name!r} goes with no other column: by itself it would cut every group into its own values; "
            "left out (give it a weight if it shall count)"
        )
    said = [code.remark] if code.remark else []
    if same:
        said.append(f"column {code.name!r} says the same as {', '.join(map(repr, same[:5]))}: they share one weight")
    if agreement**2 < NOTABLE:
        said.append(
            f"column {code.name!r} goes little with the others and counts {format_share(agreement**2)} of what it would"
            " (give it a weight if it shall count more)"
        )
    return replace(code, remark="; ".join(said))
