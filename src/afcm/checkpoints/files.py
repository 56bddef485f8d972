"""The file of a checkpoint: a zip of JSON and ``.npy`` like a model file, and the classes that it may hold."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from afcm._util.atomic_files import replace_file
from afcm._util.version import __version__
from afcm.arrays import to_device_of
from afcm.checkpoints.facts import Facts, hash_array
from afcm.fitting.loop import Progress, Result
from afcm.storage import documents
from afcm.storage.decoding import Decoder, expect_fields
from afcm.storage.encoding import Encoder
from afcm.storage.errors import FormatError, translate_errors
from afcm.storage.kinds import Kind, Table, field_names

FORMAT, SCHEMA, KIND = "afcm-checkpoint", 3, "checkpoint"
FIELDS = {"format": str, "schema": int, "afcm": str, "finished": bool, "facts": dict, "content": dict, "seal": str}
WAY_OUT = "delete it to begin anew, or give another path"
# The field of a state that is not stored: the fit that reads it has the problem, and with it the data.
PROBLEM = "problem"


class CheckpointError(ValueError):
    """A checkpoint that cannot be used, or belongs to another fit.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from afcm import PlainAFCM
    >>> from afcm.checkpoints import Checkpoint
    >>> X, path = [[0.0], [1.0], [4.0], [5.0]], Path(tempfile.mkdtemp()) / "fit.ckpt"
    >>> model = PlainAFCM(2, random_state=0, callback=Checkpoint(path)).fit(X)
    >>> PlainAFCM(3, random_state=0, callback=Checkpoint(path)).fit(X)
    Traceback (most recent call last):
        ...
    afcm.checkpoints.files.CheckpointError: ...fit.ckpt: is of another fit: n_clusters is 2 there and 3 here; ...
    """


def named_errors(path: Path) -> AbstractContextManager[None]:
    """Raise whatever is wrong with the file as one line with its name and the way out."""
    return translate_errors(lambda error: CheckpointError(f"{path}: {error.fault}; {WAY_OUT}"))


@dataclass(frozen=True)
class StoredFit:
    """A checkpoint that was read: how far which fit is, by which afcm; its content is decoded on demand."""

    path: Path
    afcm: str
    finished: bool
    facts: Facts
    content: dict[str, Any]
    arrays: dict[str, Any]

    def decode(self, name: str, table: Table) -> Any:
        """A part of the content, made of plain values and classes of the table."""
        with named_errors(self.path):
            if name not in self.content:
                raise FormatError(f"lacks {name!r}")
            return Decoder(table, self.arrays, self.arrays.__getitem__).decode(self.content[name])


def write(path: Path, finished: bool, facts: Facts, content: Mapping[str, Any], table: Table) -> None:
    """Replace a checkpoint, or make one, in one step."""
    encoder = Encoder(table)
    head = {"format": FORMAT, "schema": SCHEMA, "afcm": __version__, "finished": finished, "facts": dict(facts)}
    document = {**head, "content": encoder.encode_named(dict(content))}
    text = documents.to_text({**document, "seal": seal(document, encoder.arrays)})
    with replace_file(path) as draft:
        documents.write_document(draft, text, encoder.arrays, compressed=False)


def seal(document: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    """A hash of all that a checkpoint says: a fit goes on from what was written, or not at all."""
    found = hashlib.blake2b(documents.to_text(document), digest_size=16)
    for name in sorted(arrays):
        found.update(f"{name} {hash_array(np.atleast_1d(documents.little_endian(arrays[name])))}".encode())
    return found.hexdigest()


def read(path: Path) -> StoredFit:
    """The checkpoint at ``path``, to the last bit as it was written; else a `CheckpointError`."""
    with named_errors(path), documents.open_document(path, KIND) as file:
        document = file.document
        if document.get("format") != FORMAT:
            raise FormatError("is a file of another kind, not a checkpoint")
        if document.get("schema") != SCHEMA:
            raise FormatError(f"has a schema that this afcm does not read (it reads {SCHEMA})")
        expect_fields(document, FIELDS)
        arrays = {name: file.read(name) for name in file.names}
        if document.pop("seal") != seal(document, arrays):
            raise FormatError("was changed after it was written")
    return StoredFit(path, document["afcm"], document["finished"], document["facts"], document["content"], arrays)


@dataclass(frozen=True)
class StateKind(Kind):
    """A class of which states are made; its arrays are where ``place`` is, and on the host in the file."""

    place: Any = None

    def take_apart(self, value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return {}, {name: to_device_of(getattr(value, name), None) for name in self.state}

    def put_together(self, params: dict[str, Any], state: dict[str, Any]) -> Any:
        return super().put_together(params, {name: to_device_of(item, self.place) for name, item in state.items()})


def make_table(problem: Any, place: Any = None) -> Table:
    """The classes in the checkpoint of a fit of ``problem``, whose ``state_types`` tell what its states are made of."""
    kinds = [Kind(cls, dict.fromkeys(field_names(cls))) for cls in (Progress, Result)]
    for cls in problem.state_types:
        names = field_names(cls)
        given = {PROBLEM: lambda: problem} if PROBLEM in names else {}
        kinds.append(StateKind(cls, dict.fromkeys(name for name in names if name != PROBLEM), given, place))
    return {kind.cls.__name__: kind for kind in kinds}
