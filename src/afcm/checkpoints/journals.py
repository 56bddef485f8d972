"""`Checkpoint`, which a user gives as ``callback``, and `Journal`, which a fit makes of it."""

from __future__ import annotations

import errno
import math
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from afcm._util.atomic_files import remove_drafts
from afcm._util.messages import to_one_line
from afcm.checkpoints import files, states
from afcm.checkpoints.facts import Facts, describe_fit, find_differences
from afcm.exceptions import CheckpointWarning
from afcm.fitting import loop
from afcm.fitting.loop import Progress, Result

# As many differences are told.
MOST_TOLD = 3


@dataclass(frozen=True)
class Checkpoint:
    """Given as ``callback``, makes a fit write down where it is, and go on from there when it is run again.

    The result is that of a fit that was never stopped: to the last bit on the same machine with as many threads.

    Parameters
    ----------
    path : path-like
        The file, one for each fit. It is replaced in one step, so that a kill leaves the one before. After the fit it
        holds the result, and the same fit again returns at once.
    every : int, default=10
        Sweeps from one writing to the next. Ctrl-C and the end of the fit write, too.
    seconds : float, optional
        At least so many seconds from one writing to the next, for short sweeps or large models.
    resume : bool, default=True
        Go on from the file if it is there; it must be of a fit with the same parameters and data. False: begin anew
        and replace it.
    callback : callable, optional
        Called after each sweep with an `afcm.fitting.loop.Iteration`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from afcm import PlainAFCM
    >>> from afcm.checkpoints import Checkpoint
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint(Path(folder) / "fit.ckpt", every=5)
    ...     first = PlainAFCM(2, random_state=0, callback=checkpoint).fit(X)
    ...     again = PlainAFCM(2, random_state=0, callback=checkpoint).fit(X)  # reads the result
    >>> first.objective_ == again.objective_
    True
    """

    path: str | os.PathLike[str]
    every: int = 10
    seconds: float | None = None
    resume: bool = True
    callback: Callable[[Any], object] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.every, bool) or not isinstance(self.every, (int, np.integer)) or self.every < 1:
            raise ValueError(f"every={self.every!r} must be an integer of at least 1: sweeps between two writings")
        if self.seconds is not None and not (self.seconds >= 0 and math.isfinite(self.seconds)):
            raise ValueError(f"seconds={self.seconds!r} must be a number of at least 0, or None")
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback={self.callback!r} must be callable, or None")

    def __call__(self, iteration: Any) -> NoReturn:
        """Only a fit that keeps a journal can use it."""
        raise TypeError("this fit cannot write checkpoints; give it another callback than a Checkpoint")


def journal(estimator: Any, X: Any, masses: Any = None, *, data: Mapping[str, Any] | None = None) -> Journal:
    """The journal of a fit, before anything is drawn: ``estimator.callback`` says whether it is written down.

    ``data`` describes X where its values are not to be read, for example its shape and dtype.
    """
    given = estimator.callback
    if not isinstance(given, Checkpoint):
        return Journal(given)
    return WrittenJournal(given, describe_fit(estimator, X, masses, data), X)


def check_early(estimator: Any) -> None:
    """What is wrong with a checkpoint, as far as that can be told without the data, is told before long work."""
    given = estimator.callback
    if isinstance(given, Checkpoint):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CheckpointWarning)  # the journal says it
            WrittenJournal(given, describe_fit(estimator, None, None, {}), None)


class Journal:
    """The runs of one fit, with nothing written down."""

    def __init__(self, callback: Callable[[Any], object] | None = None) -> None:
        self.callback = callback

    def random(self, random: np.random.RandomState) -> np.random.RandomState:
        """What the fit is to draw from."""
        return random

    def best_run(
        self,
        problem: Any,
        starters: Sequence[Callable[[], Any]],
        *,
        key: Callable[[Result[Any]], float],
        **how: Any,
    ) -> tuple[Result[Any], KeyboardInterrupt | None]:
        """`alternating.best_run`."""
        return loop.best_run(problem, starters, key=key, callback=self.callback, **how)


class WrittenJournal(Journal):
    """The runs of one fit, written down every so often, and continued where the file says."""

    def __init__(self, checkpoint: Checkpoint, about: Facts, place: Any) -> None:
        super().__init__(checkpoint.callback)
        self.checkpoint, self.facts, self.place = checkpoint, about, place
        self.path = Path(checkpoint.path)
        self.began: Any = None  # the state of the random numbers when the fit began
        self.found = self._found()
        self._latest: Callable[[], Progress[Any]] | None = None
        self._problem: Any = None
        self._sweeps, self._written = 0, time.monotonic()

    def _found(self) -> files.StoredFit | None:
        """What the file holds, if there is one to go on from."""
        if not self.path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "no such folder for a checkpoint; create it first", str(self.path))
        remove_drafts(self.path)
        if not self.path.exists():
            return None
        found = files.read(self.path)  # even if it is to be replaced: it might be something else
        if not self.checkpoint.resume:
            return None
        self._check(found)
        return found

    def _check(self, found: files.StoredFit) -> None:
        from afcm._util.version import __version__

        other = find_differences(found.facts, self.facts)
        if other:
            more = f" (and {len(other) - MOST_TOLD} more)" if len(other) > MOST_TOLD else ""
            raise files.CheckpointError(
                f"{self.path}: is of another fit: {', '.join(other[:MOST_TOLD])}{more}; fit as before, give another "
                "path, or begin anew with resume=False"
            )
        if found.afcm != __version__:
            warnings.warn(
                f"{self.path}: was written by afcm {found.afcm} and is continued by {__version__}; the result may "
                "not be that of either alone",
                CheckpointWarning,
                stacklevel=6,
            )

    def random(self, random: np.random.RandomState) -> np.random.RandomState:
        """As it was when the fit began; NumPy's global state is not touched for that."""
        if self.found is not None:
            shared = random is np.random.mtrand._rand
            random = np.random.RandomState() if shared else random
            with files.named_errors(self.path):
                random.set_state(self.found.decode("began", {}))
        self.began = random.get_state(legacy=False)
        if self.began["bit_generator"] != "MT19937":  # others have states of more than 64 bits
            raise ValueError(f"random_state={random!r} cannot be kept in a checkpoint; use an int")
        return random

    def best_run(
        self,
        problem: Any,
        starters: Sequence[Callable[[], Any]],
        *,
        key: Callable[[Result[Any]], float],
        **how: Any,
    ) -> tuple[Result[Any], KeyboardInterrupt | None]:
        """`alternating.best_run` from where the file is, writing on."""
        progress = self._resumed(problem, starters)
        if progress.best is not None and progress.n_ended >= len(starters):
            return progress.best, None
        self._problem = problem
        best, stopped = loop.best_run(
            problem, starters, key=key, progress=progress, keep=self._keep, callback=self.callback, **how
        )
        if stopped is None:
            self._write(Progress(len(starters), best), finished=True)
        elif self._latest is not None:
            self._write(self._latest())
        return best, stopped

    def _resumed(self, problem: Any, starters: Sequence[Callable[[], Any]]) -> Progress[Any]:
        if self.found is None:
            return Progress()
        progress = self.found.decode("progress", states.make_table(problem, self.place))
        experience = self.found.decode("experience", {})
        n_begun = progress.n_ended + (progress.current is not None)
        if n_begun < len(starters):  # others are to come: what these drew and learned comes before them
            for starter in starters[:n_begun]:
                starter()
        if experience is not None:
            problem.gain(experience)
        return progress

    def _keep(self, progress: Callable[[], Progress[Any]]) -> None:
        self._latest, self._sweeps = progress, self._sweeps + 1
        waited = time.monotonic() - self._written >= (self.checkpoint.seconds or 0.0)
        if self._sweeps >= self.checkpoint.every and waited:
            self._write(progress())

    def _write(self, progress: Progress[Any], *, finished: bool = False) -> None:
        """A disk that is full, or gone, is no reason to lose the fit."""
        content = {
            "began": self.began,
            "experience": getattr(self._problem, "experience", None),
            "progress": progress,
        }
        try:
            files.write(self.path, finished, self.facts, content, states.make_table(self._problem))
        except OSError as error:
            warnings.warn(
                f"{self.path}: checkpoint not written ({to_one_line(error, 200)}); the fit goes on and tries again, "
                "and the checkpoint before stays as it was",
                CheckpointWarning,
                stacklevel=2,
            )
        self._sweeps, self._written = 0, time.monotonic()
