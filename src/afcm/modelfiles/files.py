"""Write fitted models to files and read them again: `save_model`, `load_model` and `read_info`."""

from __future__ import annotations

import errno
import json
import os
import platform
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from afcm._util.atomic_files import replace_file
from afcm._util.messages import to_one_line
from afcm._util.version import __version__
from afcm.modelfiles.checking import check_model
from afcm.modelfiles.info import ModelInfo, describe_model
from afcm.modelfiles.registry import KINDS
from afcm.storage import documents
from afcm.storage.decoding import Decoder, expect_fields
from afcm.storage.encoding import Encoder
from afcm.storage.errors import DamagedError, FormatError, translate_errors

FORMAT, SCHEMA, KIND = "afcm-model", 1, "model file"
FIELDS = {"format": str, "schema": int, "versions": dict, "info": dict, "model": dict}
VERSIONS = {"afcm": __version__, "python": platform.python_version(), "numpy": np.__version__}
VERSIONS |= {"scipy": scipy.__version__, "scikit-learn": sklearn.__version__}
NOT_OURS, AGAIN = "give a file that afcm.save_model has written", "copy it again, or save the model again"
StrPath = str | os.PathLike[str]


class ModelFileError(ValueError):
    """A model file that cannot be read, or a model that cannot be written to one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from afcm import load_model
    >>> path = Path(tempfile.mkdtemp()) / "notes.txt"
    >>> _ = path.write_text("not a model")
    >>> load_model(path)
    Traceback (most recent call last):
        ...
    afcm.modelfiles.files.ModelFileError: ...notes.txt: is not a model file; give a file that ...
    """


def named_errors(path: StrPath) -> AbstractContextManager[None]:
    """Raise whatever is wrong with the file as one line with its name and the way out."""

    def explain(error: FormatError) -> ModelFileError:
        advice = error.advice or (AGAIN if isinstance(error, DamagedError) else NOT_OURS)
        return ModelFileError(f"{os.fspath(path)}: {error.fault}; {advice}")

    return translate_errors(explain)


def save_model(model: Any, path: StrPath, *, info: Mapping[str, Any] | None = None) -> Path:
    """Write a model to a file that `load_model` reads, now and in later versions.

    The file holds numbers and text and no code (`docs/model-files.md`). It replaces an old one in one step: an
    interrupt or a full disk leaves the old file as it was. What is not kept: ``callback``, and a ``random_state`` that
    is not a number (both None after loading). What a fitted `AFCM` needs to place new samples includes the samples
    of the fit.

    Parameters
    ----------
    model : an estimator of afcm or afcm.baselines, or a scikit-learn Pipeline that ends in one
        After scalers and imputers for numbers. It need not be fitted.
    path : path-like
        ``.afcm`` is the usual ending.
    info : dict, optional
        Anything JSON can hold: where the data came from, a comment. `read_info` gives it back.

    Returns
    -------
    Path

    Raises
    ------
    ModelFileError
        If the model holds something that a model file does not.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from afcm import PlainAFCM, load_model, save_model
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> model = PlainAFCM(n_clusters=2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_model(model, Path(folder) / "two.afcm")
    ...     again = load_model(file)
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    path = Path(path)
    with named_errors(path):
        encoder = Encoder(KINDS)
        tree = encoder.encode(model)
        check_model(model)
        head = {"format": FORMAT, "schema": SCHEMA, "versions": VERSIONS, "info": to_plain_info(info)}
        text = documents.to_text({**head, "model": tree})
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder; create it first", str(path.parent))
    try:
        with replace_file(path) as draft:
            documents.write_document(draft, text, encoder.arrays)
    except OSError as error:
        raise OSError(error.errno, f"cannot write the model: {error.strerror}", str(path)) from error
    return path


def load_model(path: StrPath) -> Any:
    """The model in a file that `save_model` has written; its results are the same to the last bit.

    Nothing in the file is run or unpickled, and what does not fit together is refused.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    ModelFileError
        If it is no model file, or damaged, or from a newer afcm.
    OSError
        If there is no such file, or it cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from afcm import PlainAFCM, load_model, save_model
    >>> X = load_iris().data
    >>> model = PlainAFCM(3, random_state=0).fit(X)
    >>> path = save_model(model, os.path.join(tempfile.mkdtemp(), "iris.afcm"))
    >>> bool((load_model(path).predict_proba(X) == model.memberships_).all())
    True
    """
    with named_errors(path), documents.open_document(Path(path), KIND) as file:
        check_envelope(file.document)
        decoder = Decoder(KINDS, file.names, file.read)
        model = decoder.decode(file.document["model"])
        decoder.check_all_used()
        check_model(model)
        return model


def read_info(path: StrPath) -> ModelInfo:
    """Read what a model file says about itself; no array is read and no model built.

    Parameters
    ----------
    path : path-like

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from afcm import FCM, read_info, save_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_model(FCM(n_clusters=3), Path(folder) / "not-fitted.afcm", info={"data": "none yet"})
    ...     found = read_info(file)
    >>> found.estimator, found.parameters["m"], found.info
    ('FCM', 2.0, {'data': 'none yet'})
    """
    with named_errors(path), documents.open_document(Path(path), KIND) as file:
        check_envelope(file.document)
        return describe_model(file.document)


def check_envelope(document: dict[str, Any]) -> None:
    """Raise `FormatError` unless this version reads the format of the document."""
    if document.get("format") != FORMAT:
        raise FormatError(f"is not of the format {FORMAT!r}")
    schema = document.get("schema")
    if type(schema) is int and schema > SCHEMA:
        fault = f"made by a newer afcm (schema {min(schema, 10**9)}, this one reads {SCHEMA})"
        raise FormatError(fault, "upgrade: pip install -U afcm")
    if type(schema) is not int or schema < SCHEMA:
        raise FormatError(f"has a schema that is not read any more (this one reads {SCHEMA})", "save the model again")
    expect_fields(document, FIELDS)


def to_plain_info(info: Mapping[str, Any] | None) -> dict[str, Any]:
    """The caller's notes as JSON will give them back."""
    if info is not None and not isinstance(info, Mapping):
        raise FormatError(f"info must be a dict, not {type(info).__name__}", "give a dict, or None")
    try:
        return dict(json.loads(json.dumps(dict(info or {}), allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        fault = f"cannot hold this info ({to_one_line(error, 200)})"
        raise FormatError(fault, "use text, finite numbers, lists and dicts") from error
