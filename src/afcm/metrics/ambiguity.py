"""Ambiguity of samples, by its public address; the function is that of `afcm.equations.ambiguity`."""

from afcm.equations.ambiguity import AMBIGUOUS, ambiguity, is_ambiguous

__all__ = ["AMBIGUOUS", "ambiguity", "is_ambiguous"]
