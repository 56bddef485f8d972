"""Files that are either finished or not there."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file to write, which takes the place of ``path`` at the end.

    Whatever happens in between, an interrupt or a full disk, leaves the old file (or none) and nothing beside it.
    """
    path = Path(path)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-", suffix=path.suffix)
    os.close(descriptor)
    draft = Path(name)
    try:
        yield draft
        with open(draft, "rb") as written:
            os.fsync(written.fileno())
        os.chmod(draft, _mode(path))
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def remove_drafts(path: str | os.PathLike[str]) -> None:
    """Take away what a kill in the middle of `replace_file` has left beside ``path``."""
    path = Path(path)
    draft = re.compile(re.escape(f".{path.name}-") + "[a-z0-9_]{8}" + re.escape(path.suffix))
    for beside in path.parent.iterdir():
        if draft.fullmatch(beside.name):
            beside.unlink(missing_ok=True)


def _mode(path: Path) -> int:
    """The rights of the file that is replaced, or those of a new one (mkstemp's are for their owner only)."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
