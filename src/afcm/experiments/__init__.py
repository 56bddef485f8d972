"""Runs the paper's tables and figures and compares the results with its printed numbers: ``afcm reproduce``.

`plan` reads the specs and names the runs, `methods` fits them, `runner` spreads them over processes, `record` keeps
their rows, `summary` chooses and compares, `report` writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from afcm._util.lazy import load_name

if TYPE_CHECKING:
    from afcm.experiments.plan import choose_specs
    from afcm.experiments.record import Row, RowStore, StoreError, read_rows
    from afcm.experiments.report import write_report
    from afcm.experiments.runner import reproduce

__all__ = ["Row", "RowStore", "StoreError", "choose_specs", "read_rows", "reproduce", "write_report"]

# Public name → where it lives; loaded on first use, so that a plan can be read without loading the methods.
_HOMES = dict.fromkeys(("Row", "RowStore", "StoreError", "read_rows"), "afcm.experiments.record") | {
    "choose_specs": "afcm.experiments.plan",
    "reproduce": "afcm.experiments.runner",
    "write_report": "afcm.experiments.report",
}


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(__all__)
