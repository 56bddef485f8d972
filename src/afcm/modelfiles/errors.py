"""The error of model files, which names the file and tells the way out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from afcm.storage.errors import DamagedError, FormatError, translate_errors

NOT_OURS = "give a file that afcm.save_model has written"
AGAIN = "copy it again, or save the model again"


class ModelFileError(ValueError):
    """A model file that cannot be read, or a model that cannot be written to one."""


@contextmanager
def named_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise whatever is wrong with the file as one line with its name and the way out; an OSError stays one."""
    try:
        with translate_errors():
            yield
    except FormatError as error:
        advice = error.advice or (AGAIN if isinstance(error, DamagedError) else NOT_OURS)
        raise ModelFileError(f"{os.fspath(path)}: {error.fault}; {advice}") from error.__cause__
