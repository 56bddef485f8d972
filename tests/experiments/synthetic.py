"""Rows as a runner would write them, made up for the tests of the report."""

from __future__ import annotations

from afcm.experiments.printed import printed_score
from afcm.experiments.record import METRICS, Row

VERSIONS = {"afcm": "0.1.0", "numpy": "2.4.0"}


def row(dataset="iris", method="AFCM", *, seed=0, acc=90.0, nmi=80.0, ari=70.0, experiment="table1", **more):
    metrics = {"ACC": acc, "NMI": nmi, "ARI": ari} if more.get("status", "ok") == "ok" else {}
    setting = {"params": {}, "metrics": metrics, "versions": VERSIONS, "seconds": 0.5} | more
    return Row(experiment=experiment, dataset=dataset, method=method, seed=seed, **setting)


def as_printed(table, dataset, method, *, lift=0.0, experiment="table1", under=None, seeds=2, params=({},)):
    """Runs whose mean is the printed number plus a lift (for the first grid point; the others are 5 points lower)."""
    scores = {metric: printed_score(table, dataset, method, metric) for metric in METRICS}
    return [
        Row(
            experiment=experiment,
            dataset=dataset,
            method=under or method,
            params=point,
            seed=seed,
            metrics={metric: score.mean + lift - 5 * number for metric, score in scores.items()},
            seconds=0.25,
            versions=VERSIONS,
        )
        for number, point in enumerate(params)
        for seed in range(seeds)
    ]


def trace(dataset="iris", *, objective=(5.0, 3.0, 2.0, 2.0), capped_at=3, **more):
    details = {
        "objective": list(objective),
        "acc": [60.0 + sweep for sweep in range(len(objective))],
        "gamma": [10.0**sweep for sweep in range(len(objective))],
        "gamma_cap": 1e12,
        "capped_at": capped_at,
    }
    setting = {"params": {"n_neighbors": 3, "graph_weight": 1e3}, "details": details} | more
    return row(dataset, "AFCM", experiment="convergence", **setting)


def whole_run(datasets=("iris", "breast", "breast-id", "usps")):
    """A little of everything but the toys."""
    grid = ({"n_neighbors": 3, "graph_weight": 1e3}, {"n_neighbors": 5, "graph_weight": 1e3})
    rows = []
    for dataset in datasets:
        for method in ("FCM", "SC", "AFCM"):
            rows += as_printed("results", dataset, method, params=grid)
        for method in ("Ablation-1", "Ablation-2"):
            rows += as_printed("ablation", dataset, method, experiment="table2", params=grid)
        for method, lift, params in (
            ("AFCM-ours", 2.0, grid),
            ("SC-ours", 1.0, grid),
            ("AFCM-default", -2.0, ({},)),
            ("SC-default", -3.0, ({},)),
        ):
            rows += as_printed("results", dataset, "AFCM", lift=lift, experiment="ours", under=method, params=params)
        rows.append(trace(dataset))
    return rows
