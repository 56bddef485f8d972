"""The file: a zip of JSON and .npy like a model file, written and read by the same code, and never unpickled."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from afcm.files import replacing

FORMAT, SCHEMA = "afcm-checkpoint", 1
FIELDS = {"format": str, "schema": int, "afcm": str, "finished": bool, "facts": dict, "content": dict}
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
    from afcm import __version__
    from afcm.modelfiles import container
    from afcm.modelfiles.encoding import Arrays, encode

    arrays = Arrays()
    head = {"format": FORMAT, "schema": SCHEMA, "afcm": __version__, "finished": finished, "facts": dict(facts)}
    text = container.as_text({**head, "content": encode(content, arrays)})
    with replacing(path) as draft:
        container.write(draft, text, arrays.by_name, compressed=False)


def read(path: Path) -> dict[str, Any]:
    """What `write` was given, and the version that wrote it."""
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
        shelf = Shelf(lambda name: container.read_array(archive, name), names)
        content = decode(document["content"], shelf)
        shelf.check_all_used()
        return {**document, "content": content}
