"""The errors of files that cannot be read or written: the fault, and the way out where storage knows one."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from afcm._util.messages import to_one_line

# Seeking to where a damaged file points gives these; any other OSError is the machine's and stays what it is.
ODD_OFFSETS = (None, errno.EINVAL)


class FormatError(ValueError):
    """A file is not what it should be, or cannot hold a value.

    ``fault`` is a verb phrase whose subject is the file; whoever reads the file adds its name. ``advice`` is the way
    out, where the fault alone tells it.
    """

    def __init__(self, fault: str, advice: str = "") -> None:
        super().__init__(f"{fault}; {advice}" if advice else fault)
        self.fault, self.advice = fault, advice


class DamagedError(FormatError):
    """A file that was right once: a new copy of it may help."""


@contextmanager
def translate_errors(explain: Callable[[FormatError], Exception]) -> Iterator[None]:
    """Raise all that a file makes zipfile, zlib, NumPy or a class raise as ``explain`` says; an OSError stays one."""
    try:
        yield
    except FormatError as error:
        raise explain(error) from error.__cause__
    except MemoryError as error:
        raise explain(FormatError("holds more than there is memory for", "use a larger machine")) from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in ODD_OFFSETS:
            raise
        raise explain(DamagedError(f"is damaged or cut short ({to_one_line(error, 200)})")) from error
