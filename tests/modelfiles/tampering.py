"""Ways to change a model file, and how a changed one is refused."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest

from afcm import load_model, read_info
from afcm.modelfiles import ModelFileError


def entries(path):
    """The contents of a zip file by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, contents, method=zipfile.ZIP_DEFLATED):
    """A zip file with these contents: a dict, or pairs where names repeat."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in contents.items() if isinstance(contents, dict) else contents:
            archive.writestr(zipfile.ZipInfo(name), data, method)


def redocument(path, change):
    """Change the document of a file."""
    contents = entries(path)
    document = json.loads(contents["model.json"])
    change(document)
    rewrite(path, contents | {"model.json": json.dumps(document)})


def refused(path, words, readers=(load_model, read_info)):
    for read in readers:
        with pytest.raises(ModelFileError, match=words) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)
        assert "; " in str(caught.value)


def npy(array, **how):
    handle = io.BytesIO()
    np.lib.format.write_array(handle, np.asarray(array), **how)
    return handle.getvalue()


def directory_fields(data, name):
    """Where an entry of the zip file's directory is."""
    return next(
        start
        for start in range(len(data))
        if data[start : start + 4] == b"PK\x01\x02" and data[start + 46 :].startswith(name)
    )
