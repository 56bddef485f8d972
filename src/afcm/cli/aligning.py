"""The option ``--align-to``: clusters keep the numbers that they have in an older model file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from afcm._util.pipelines import last_step
from afcm.catalogue import BY_NAME
from afcm.cli.predict import choose_for_model, transform_for_model
from afcm.cli.samples import Samples

if TYPE_CHECKING:
    from afcm.estimators.alignment import Alignment


@dataclass(frozen=True)
class OldClusters:
    """Memberships that an older model gives to the rows of a fit."""

    path: Path
    memberships: Any

    @classmethod
    def read(cls, path: Path, samples: Samples) -> OldClusters:
        """Place the rows that are clustered by the model in a file."""
        from afcm.modelfiles import load_model, read_info

        model, about = load_model(path), dict(read_info(path).info)
        estimator = last_step(model)
        if not hasattr(estimator, "predict_proba"):
            kind = type(estimator).__name__
            raise ValueError(f"--align-to {path}: the model is a {kind}, which has no memberships; use another model")
        rows = choose_for_model(model, about, samples.table, f"--align-to {path}: the table", None)
        if samples.rows is not None:
            rows = replace(rows, rows=samples.rows, X=rows.X if rows.mixed else rows.X[samples.rows])
        return cls(path, estimator.predict_proba(transform_for_model(model, rows)))

    def align(self, estimator: Any) -> Alignment:
        """Renumber a fit of the same rows."""
        from afcm.estimators.alignment import align_memberships

        return align_memberships(estimator, estimator.memberships_, self.memberships)

    def describe(self, aligned: Alignment) -> list[str]:
        """Return lines about what became of each cluster."""
        return [f"Clusters, numbered as in {self.path}:", *(f"  {line}" for line in str(aligned).splitlines())]


def check_option(path: Path | None, estimator: Any, known: str | None) -> None:
    """Refuse ``--align-to`` where the numbers come from elsewhere, or there are no memberships to compare."""
    if path is None:
        return
    if known is not None:
        raise ValueError("--align-to and --known both number the clusters; give one of them")
    name = type(estimator).__name__
    if name not in BY_NAME:
        raise ValueError(f"--align-to: {name} has no memberships to compare; use another --method, or leave it out")
