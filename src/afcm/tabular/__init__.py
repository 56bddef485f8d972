"""Tables as people keep them: read, look through, prepare for a fit, write. Needs pyarrow (extra ``cli``)."""

from afcm.tabular.columns import Chosen, choose_columns
from afcm.tabular.reading import TableError, read_table
from afcm.tabular.writing import added_names, result_pieces, with_results, write_table

__all__ = [
    "Chosen",
    "TableError",
    "added_names",
    "choose_columns",
    "read_table",
    "result_pieces",
    "with_results",
    "write_table",
]
