"""Our warnings and errors by name, so that a caller can filter or catch them."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning


class AFCMWarning(UserWarning):
    """Base of every warning of this package."""


class HardMembershipsWarning(AFCMWarning):
    """The learned fuzziness ran to its cap: memberships are 0 or 1 and say nothing about ambiguity."""


class MergedClustersWarning(AFCMWarning):
    """All centres met: every membership is 1/c and the labels mean nothing."""


class NoClustersWarning(AFCMWarning):
    """Clusters were to be counted, and there are none: all samples are one cluster."""


class NotConvergedWarning(AFCMWarning, ConvergenceWarning):
    """The sweeps stopped at ``max_iter``, or the eigen-solver before its residual was small."""


class CheckpointWarning(AFCMWarning):
    """A checkpoint could not be written, or another version wrote it; the fit goes on."""


class ScaleWarning(AFCMWarning):
    """One column holds nearly all of the squared distances, so that the others have no say."""


class KnownLabelsWarning(AFCMWarning):
    """Known labels contradict each other: identical samples have different ones."""


class UnknownCategoryWarning(AFCMWarning):
    """New samples hold a category that the fit has not seen; it counts as a missing value."""


class WorkersLostError(RuntimeError):
    """A Dask cluster has no workers left, or lost too many, so that a fit cannot go on."""
