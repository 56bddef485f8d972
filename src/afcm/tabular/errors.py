"""The error for tables that cannot be used, and how its messages list names."""

from __future__ import annotations

from collections.abc import Sequence


class TableError(ValueError):
    """A file or a column cannot be used; the message names it and the way out."""


def join_names(names: Sequence[object], most: int = 8) -> str:
    """``a, b, c and 4 more``: at most ``most`` names are shown."""
    rest = len(names) - most
    return ", ".join(map(str, names[:most])) + (f" and {rest} more" if rest > 0 else "")
