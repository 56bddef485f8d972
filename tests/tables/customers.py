"""A table as people have them: three groups of customers, a yes/no column by chance, some incomes missing."""

from __future__ import annotations

import numpy as np
from studies.tables import draw_customers


def make_customers(seed):
    """The study's customers with words for yes and no; returns columns and groups."""
    table, groups = draw_customers(seed)
    return {**table, "member": np.where(table["member"], "yes", "no").astype(object)}, groups
