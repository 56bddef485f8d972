"""Runs the paper's tables and figures and compares the results with its printed numbers: ``afcm reproduce``.

`plan` reads the specs and names the runs, `methods` fits them, `runner` spreads them over processes, `record` keeps
their rows, `summary` chooses and compares, `report` writes.
"""

from afcm.experiments.plan import choose_specs
from afcm.experiments.record import Row, RowStore, StoreError, read_rows
from afcm.experiments.report import write_report
from afcm.experiments.runner import reproduce

__all__ = ["Row", "RowStore", "StoreError", "choose_specs", "read_rows", "reproduce", "write_report"]
