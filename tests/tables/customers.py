"""A table as people have them: three groups of customers, a yes/no column by chance, some incomes missing."""

from __future__ import annotations

import numpy as np


def make_customers(seed, n=400):
    """Three groups 10 years, 20,000 in income and 4 visits apart; returns columns and groups."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 3, n)
    table = {
        "age": random.normal(30 + 10 * group, 4),
        "income": random.normal(30_000 + 20_000 * group, 6000),
        "visits": random.poisson(4 + 4 * group),
        "member": np.where(random.random(n) < 0.5, "yes", "no").astype(object),
    }
    table["income"][random.random(n) < 0.05] = np.nan
    return table, group
