"""One error for everything that is wrong with a model file, and the door where it gets the file's name."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from afcm._util.messages import to_one_line

# Seeking to where a damaged file points gives these; any other OSError is the machine's and stays what it is.
ODD_OFFSETS = (None, errno.EINVAL)


class ModelFileError(ValueError):
    """A model file that cannot be read, or a model that cannot be written to one."""


@contextmanager
def door(path: str | os.PathLike[str]) -> Iterator[None]:
    """Whatever is wrong with the file becomes one line with its name; an OSError stays an OSError."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error.__cause__
    except MemoryError as error:
        raise ModelFileError(f"{os.fspath(path)}: holds more than there is memory for; use a larger machine") from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in ODD_OFFSETS:
            raise
        raise ModelFileError(
            f"{os.fspath(path)}: is damaged or cut short ({to_one_line(error, 200)}); copy it again, or save the model "
            "again"
        ) from error
