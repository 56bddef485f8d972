"""What can be wrong with a table."""

from __future__ import annotations


class TableError(ValueError):
    """A file or a column that cannot be used; the message names it and the way out."""
