"""The file: a zip of JSON and .npy like a model file, written and read by the same code, and never unpickled."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from afcm._util.atomic_files import replace_file
from afcm.checkpoints.facts import digest

FORMAT, SCHEMA = "afcm-checkpoint", 2
FIELDS = {"format": str, "schema": int, "afcm": str, "finished": bool, "facts": dict, "content": dict, "seal": str}
WAY_OUT = "delete it to begin anew, or give another path"


class CheckpointError(ValueError):
    """A checkpoint that cannot be used, or belongs to another fit."""


@contextmanager
def door(path: Path) -> Iterator[None]:
    """Whatever is wrong with the file becomes one line with its name and the way out."""
    from afcm.modelfiles import errors

    try:
        with errors.door(path):
            yield
    except errors.ModelFileError as error:
        said = str(error.__cause__ if isinstance(error.__cause__, CheckpointError) else error)
        said = said.removeprefix(f"{os.fspath(path)}: ").split(";")[0].replace("model file", "checkpoint")
        raise CheckpointError(f"{path}: {said}; {WAY_OUT}") from error


def write(path: Path, finished: bool, facts: Mapping[str, str], content: dict[str, Any]) -> None:
    """In place of an old one, in one step."""
    from afcm._util.version import __version__
    from afcm.modelfiles import container
    from afcm.modelfiles.encoding import Arrays, encode

    arrays = Arrays()
    head = {"format": FORMAT, "schema": SCHEMA, "afcm": __version__, "finished": finished, "facts": dict(facts)}
    document = {**head, "content": encode(content, arrays)}
    text = container.as_text({**document, "seal": seal(document, arrays.by_name)})
    with replace_file(path) as draft:
        container.write(draft, text, arrays.by_name, compressed=False)


def seal(document: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    """A hash of all that a checkpoint says: a fit goes on from what was written, or not at all."""
    from afcm.modelfiles import container

    found = hashlib.blake2b(container.as_text(document), digest_size=16)
    for name in sorted(arrays):
        found.update(f"{name} {digest(np.atleast_1d(container.little(arrays[name])))}".encode())
    return found.hexdigest()


def read(path: Path) -> dict[str, Any]:
    """What `write` was given, to the last bit, and the version that wrote it."""
    from afcm.modelfiles import container
    from afcm.modelfiles.decoding import Shelf, decode, wanted

    with door(path), container.opened(path) as archive:
        document = container.read_document(archive)
        if document.get("format") != FORMAT:
            raise CheckpointError("is a file of another kind, not a checkpoint")
        if document.get("schema") != SCHEMA:
            raise CheckpointError(f"has a schema that this afcm does not read (it reads {SCHEMA})")
        document = wanted(document, FIELDS)
        names = set(archive.namelist()) - {container.DOCUMENT}
        arrays = {name: container.read_array(archive, name) for name in names}
        if seal({name: document[name] for name in document if name != "seal"}, arrays) != document["seal"]:
            raise CheckpointError("was changed after it was written")
        shelf = Shelf(arrays.__getitem__, names)
        content = decode(document["content"], shelf)
        shelf.check_all_used()
        return {**document, "content": content}
