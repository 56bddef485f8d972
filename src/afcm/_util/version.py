"""The version of this package, for files that say who wrote them."""

__version__ = "0.2.0"
