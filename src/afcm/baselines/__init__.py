"""The methods that the paper compares with, as scikit-learn estimators."""

from afcm.baselines.cdkm import CDKM
from afcm.baselines.fcag import FCAG
from afcm.baselines.fkps import FKPS
from afcm.baselines.rsfkm import RSFKM
from afcm.baselines.spectral import SpectralBaseline

__all__ = ["CDKM", "FCAG", "FKPS", "RSFKM", "SpectralBaseline"]
