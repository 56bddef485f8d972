"""Quotients that are defined where the denominator is zero."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from afcm._typing import Floats


def ratio(top: Any, bottom: Any, otherwise: Any) -> Any:
    """``top / bottom`` where the bottom is positive, else ``otherwise``."""
    xp = array_namespace(top, bottom)
    filled = bottom > 0
    return xp.where(filled, top / xp.where(filled, bottom, xp.ones_like(bottom)), otherwise)


def inverse_sqrt(degrees: Floats) -> Floats:
    """``d^{-1/2}``, and 0 where d is 0."""
    xp = array_namespace(degrees)
    return ratio(xp.ones_like(degrees), xp.sqrt(degrees), xp.zeros_like(degrees))


def normalize_rows(vectors: Floats) -> Floats:
    """Rows scaled to length one; a zero row stays."""
    xp = array_namespace(vectors)
    return ratio(vectors, xp.linalg.vector_norm(vectors, axis=1, keepdims=True), xp.zeros_like(vectors))
