"""Tables as people have them: columns of numbers, dates and categories become coordinates of equal say."""

from afcm.tables.scaler import TableScaler

__all__ = ["TableScaler"]
