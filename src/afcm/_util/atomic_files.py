"""Write files so that a reader finds the old content or the new one, never half of either."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file to write; it takes the place of ``path`` when the block ends.

    An interrupt, a full disk or any other error leaves the old file (or none), and no temporary file.
    """
    path = Path(path)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-", suffix=path.suffix)
    os.close(descriptor)
    draft = Path(name)
    try:
        yield draft
        with open(draft, "rb+") as written:  # Windows flushes only what it may write
            os.fsync(written.fileno())
        os.chmod(draft, _mode(path))
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def remove_drafts(path: str | os.PathLike[str]) -> None:
    """Delete temporary files that a process killed in `replace_file` left next to ``path``."""
    path = Path(path)
    draft = re.compile(re.escape(f".{path.name}-") + "[a-z0-9_]{8}" + re.escape(path.suffix))
    for file in path.parent.iterdir():
        if draft.fullmatch(file.name):
            file.unlink(missing_ok=True)


def _mode(path: Path) -> int:
    """Permissions of the file that is replaced, or of a new file (mkstemp gives its files to the owner alone)."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
