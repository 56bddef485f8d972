"""Read tables from files, choose the columns to cluster by, and write tables with results. Needs the extra ``cli``."""

from afcm.tabular.columns import TableError, choose_columns
from afcm.tabular.reading import read_table
from afcm.tabular.writing import append_results, iterate_results, name_result_columns, write_table

__all__ = [
    "TableError",
    "append_results",
    "choose_columns",
    "iterate_results",
    "name_result_columns",
    "read_table",
    "write_table",
]
