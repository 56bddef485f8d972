"""`Checkpoint`, which a user gives as ``callback``, and the journal that writes a fit to its file."""

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
from afcm._util.messages import to_one_line, warn_user
from afcm._util.version import __version__
from afcm.checkpoints import files
from afcm.checkpoints.facts import Facts, describe_fit, find_differences
from afcm.exceptions import CheckpointWarning
from afcm.fitting.loop import Journal, Progress

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


def open_journal(estimator: Any, X: Any, masses: Any = None, *, data: Mapping[str, Any] | None = None) -> Journal[Any]:
    """Open the journal of a fit, before anything is drawn: a file if ``estimator.callback`` is a `Checkpoint`.

    ``data`` describes X where its values are not to be read, for example its shape and dtype.
    """
    given = estimator.callback
    if not isinstance(given, Checkpoint):
        return Journal(given)
    return CheckpointJournal(given, describe_fit(estimator, X, masses, data), X)


def check_checkpoint_early(estimator: Any) -> None:
    """Raise the errors of a checkpoint that can be told without the data, before long work begins."""
    given = estimator.callback
    if isinstance(given, Checkpoint):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CheckpointWarning)  # `open_journal` says it
            CheckpointJournal(given, describe_fit(estimator, None, None, {}), None)


class CheckpointJournal(Journal[Any]):
    """Writes the progress of a fit to a file every so often, and continues from what the file holds."""

    def __init__(self, checkpoint: Checkpoint, about: Facts, place: Any) -> None:
        super().__init__(checkpoint.callback)
        self.checkpoint, self.facts, self.place = checkpoint, about, place
        self.path = Path(checkpoint.path)
        self.random_state: Any = None  # of the generator, when the fit began
        self.found = self._read()
        self._problem: Any = None
        self._is_complete = False
        self._latest: Callable[[], Progress[Any]] | None = None
        self._sweeps, self._written = 0, time.monotonic()

    def _read(self) -> files.StoredFit | None:
        if not self.path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, "no such folder for a checkpoint; create it first", str(self.path))
        remove_drafts(self.path)
        if not self.path.exists():
            return None
        found = files.read(self.path)  # even if it is to be replaced: it might be something else
        if not self.checkpoint.resume:
            return None
        other = find_differences(found.facts, self.facts)
        if other:
            more = f" (and {len(other) - MOST_TOLD} more)" if len(other) > MOST_TOLD else ""
            raise files.CheckpointError(
                f"{self.path}: is of another fit: {', '.join(other[:MOST_TOLD])}{more}; fit as before, give another "
                "path, or begin anew with resume=False"
            )
        if found.afcm != __version__:
            warn_user(
                f"{self.path}: was written by afcm {found.afcm} and is continued by {__version__}; the result may "
                "not be that of either alone",
                CheckpointWarning,
            )
        return found

    def restore_random(self, random: np.random.RandomState) -> np.random.RandomState:
        """Return the generator as it was when the fit began; NumPy's global generator is left alone."""
        if self.found is not None:
            shared = random is np.random.mtrand._rand
            random = np.random.RandomState() if shared else random
            with files.named_errors(self.path):
                random.set_state(self.found.decode("began", {}))
        self.random_state = random.get_state(legacy=False)
        if self.random_state["bit_generator"] != "MT19937":  # others have states of more than 64 bits
            raise ValueError(f"random_state={random!r} cannot be kept in a checkpoint; use an int")
        return random

    def resume(self, problem: Any, starters: Sequence[Callable[[], Any]]) -> Progress[Any]:
        """Return the progress in the file, and make what random draws came before it."""
        self._problem = problem
        if self.found is None:
            return Progress()
        progress: Progress[Any] = self.found.decode("progress", files.make_table(problem, self.place))
        experience = self.found.decode("experience", {})
        self._is_complete = progress.best is not None and progress.n_ended >= len(starters)
        n_begun = progress.n_ended + (progress.current is not None)
        if n_begun < len(starters):  # later starts must draw what they would have drawn
            for starter in starters[:n_begun]:
                starter()
        if experience is not None:
            problem.restore(experience)
        return progress

    def note(self, iteration: Any, progress: Callable[[], Progress[Any]]) -> None:
        """Write the progress where it is time to, then call the callback."""
        self._latest, self._sweeps = progress, self._sweeps + 1
        waited = time.monotonic() - self._written >= (self.checkpoint.seconds or 0.0)
        if self._sweeps >= self.checkpoint.every and waited:
            self._write(progress())
        super().note(iteration, progress)

    def finish(self, progress: Progress[Any], *, interrupted: bool) -> None:
        """Write the result, or after Ctrl-C the last state."""
        if interrupted and self._latest is not None:
            self._write(self._latest())
        elif not interrupted and not self._is_complete:
            self._write(progress, finished=True)

    def _write(self, progress: Progress[Any], *, finished: bool = False) -> None:
        content = {
            "began": self.random_state,
            "experience": getattr(self._problem, "experience", None),
            "progress": progress,
        }
        try:
            files.write(self.path, finished, self.facts, content, files.make_table(self._problem))
        except OSError as error:  # a disk that is full, or gone, is no reason to lose the fit
            warn_user(
                f"{self.path}: checkpoint not written ({to_one_line(error, 200)}); the fit goes on and tries again, "
                "and the checkpoint before stays as it was",
                CheckpointWarning,
            )
        self._sweeps, self._written = 0, time.monotonic()
