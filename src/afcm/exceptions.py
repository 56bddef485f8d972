"""Our warnings and errors by name, so that a caller can filter or catch them."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning


class AFCMWarning(UserWarning):
    """Base of every warning of this package.

    One filter silences all of them, or makes errors of them.

    Examples
    --------
    >>> import warnings
    >>> from afcm import EntropyFCM
    >>> from afcm.exceptions import AFCMWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", AFCMWarning)
    ...     EntropyFCM(2, gamma=1e-3, random_state=0).fit([[0.0], [1.0], [2.0], [5.0]])
    Traceback (most recent call last):
        ...
    afcm.exceptions.MergedClustersWarning: EntropyFCM: all clusters merged, ...
    """


class HardMembershipsWarning(AFCMWarning):
    """The learned fuzziness ran to its cap: memberships are 0 or 1 and say nothing about ambiguity.

    This is how the paper's own memberships end; those of ``memberships="auto"`` do not.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_iris
    >>> from afcm import AFCM
    >>> from afcm.exceptions import HardMembershipsWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", HardMembershipsWarning)
    ...     model = AFCM.paper(3, random_state=0).fit(load_iris().data)
    >>> print(caught[0].message)
    AFCM: memberships became hard (gamma_=...): they are 0 or 1 and tell labels, ...
    """


class MergedClustersWarning(AFCMWarning):
    """All centers met: every membership is 1/c and the labels mean nothing.

    Examples
    --------
    >>> import warnings
    >>> from afcm import EntropyFCM
    >>> from afcm.exceptions import MergedClustersWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", MergedClustersWarning)
    ...     model = EntropyFCM(2, gamma=1e-3, random_state=0).fit([[0.0], [1.0], [2.0], [5.0]])
    >>> print(caught[0].message)
    EntropyFCM: all clusters merged, every membership is 1/2 and the labels mean nothing; gamma=0.001 is too small ...
    >>> model.memberships_.round(2)[0]
    array([0.5, 0.5])
    """


class NoClustersWarning(AFCMWarning):
    """Clusters were to be counted, and there are none: all samples are one cluster.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from afcm import AFCM
    >>> from afcm.exceptions import NoClustersWarning
    >>> cloud = np.random.default_rng(0).normal(size=(200, 2))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", NoClustersWarning)
    ...     model = AFCM("auto", random_state=0).fit(cloud)
    >>> print(caught[0].message)
    AFCM: no clusters found, so all samples are one: ...; give n_clusters to split them all the same
    >>> model.n_clusters_
    1
    """


class NotConvergedWarning(AFCMWarning, ConvergenceWarning):
    """The sweeps stopped at ``max_iter``, or the eigen-solver before its residual was small.

    Examples
    --------
    >>> import warnings
    >>> from afcm import FCM
    >>> from afcm.exceptions import NotConvergedWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", NotConvergedWarning)
    ...     model = FCM(2, max_iter=2, random_state=0).fit([[0.0], [1.0], [4.0], [5.0], [9.0]])
    >>> print(caught[0].message)
    FCM: not converged after max_iter=2 sweeps (memberships still changed by ...); raise max_iter or tol
    """


class CheckpointWarning(AFCMWarning):
    """A checkpoint could not be written, or another version wrote it; the fit goes on.

    Examples
    --------
    >>> import shutil
    >>> import tempfile
    >>> import warnings
    >>> from pathlib import Path
    >>> from afcm import PlainAFCM
    >>> from afcm.checkpoints import Checkpoint
    >>> from afcm.exceptions import CheckpointWarning
    >>> folder = Path(tempfile.mkdtemp())
    >>> def lose_folder(iteration):
    ...     shutil.rmtree(folder, ignore_errors=True)
    >>> checkpoint = Checkpoint(folder / "fit.ckpt", every=1, callback=lose_folder)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", CheckpointWarning)
    ...     model = PlainAFCM(2, n_init=1, callback=checkpoint).fit([[0.0], [1.0], [4.0], [5.0]])
    >>> print("warned:", caught[0].message)
    warned: ...fit.ckpt: checkpoint not written (...); the fit goes on and tries again, ...
    """


class ScaleWarning(AFCMWarning):
    """One column holds nearly all of the squared distances, so that the others have no say.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_wine
    >>> from afcm import AFCM
    >>> from afcm.exceptions import ScaleWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", ScaleWarning)
    ...     model = AFCM(3, random_state=0).fit(load_wine(as_frame=True).data)
    >>> print(caught[0].message)
    AFCM: column 'proline' holds 99 % of the squared distances, so that the other 12 have no say; ...
    """


class KnownLabelsWarning(AFCMWarning):
    """Known labels contradict each other: identical samples have different ones.

    Examples
    --------
    >>> import warnings
    >>> from afcm import AFCM
    >>> from afcm.exceptions import KnownLabelsWarning
    >>> X, known = [[0.0], [0.0], [1.0], [9.0], [10.0], [11.0]], [0, 1, -1, -1, -1, -1]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", KnownLabelsWarning)
    ...     model = AFCM(2, random_state=0).fit(X, known)
    >>> print(caught[0].message)
    AFCM: known labels contradict each other in 1 sample (row 1), ...; check y there
    """


class UnknownCategoryWarning(AFCMWarning):
    """New samples hold a category that the fit has not seen; it counts as a missing value.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from afcm.exceptions import UnknownCategoryWarning
    >>> from afcm.tables import TableScaler
    >>> plans = pd.DataFrame({"plan": ["free", "paid", "free", "paid"], "age": [31, 42, 55, 23]})
    >>> scaler = TableScaler().fit(plans)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", UnknownCategoryWarning)
    ...     coordinates = scaler.transform(pd.DataFrame({"plan": ["gold"], "age": [40]}))
    >>> print(caught[0].message)
    TableScaler: column 'plan' holds 'gold', which fit did not see; it counts as a missing value: ...
    """


class WorkersLostError(RuntimeError):
    """A Dask cluster has no workers left, or lost too many, so that a fit cannot go on.

    With a checkpoint the same call goes on from where the fit was, once there are workers again.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from afcm import PlainAFCM
    >>> from afcm.checkpoints import Checkpoint
    >>> from afcm.exceptions import WorkersLostError
    >>> path = Path(tempfile.mkdtemp()) / "fit.ckpt"
    >>> def fit(X):
    ...     try:
    ...         return PlainAFCM(2, random_state=0, callback=Checkpoint(path)).fit(X)
    ...     except WorkersLostError as error:
    ...         print(error)  # start workers, and call fit again
    >>> fit([[0.0], [1.0], [4.0], [5.0]]).labels_.shape
    (4,)
    """
