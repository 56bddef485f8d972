"""A stand-in for openml.org under scikit-learn's real client: the same answers, no network."""

import hashlib
import io
import json
from email.message import Message
from urllib.error import URLError

import numpy as np


class Answer(io.BytesIO):
    def info(self):
        return Message()


def arff(points, labels):
    rows = [
        ",".join("?" if np.isnan(value) else f"{value:g}" for value in row) + f",{label}"
        for row, label in zip(points, labels, strict=True)
    ]
    names = [f"@ATTRIBUTE f{column} NUMERIC" for column in range(points.shape[1])]
    classes = f"@ATTRIBUTE Class {{{','.join(np.unique(labels))}}}"
    return "\n".join(["@RELATION made-up", *names, classes, "@DATA", *rows, ""]).encode()


def feature(index, name, kind, target):
    return {
        "index": str(index),
        "name": name,
        "data_type": kind,
        "is_target": str(target).lower(),
        "is_ignore": "false",
        "is_row_identifier": "false",
        "number_of_missing_values": "0",
    }


def site(points, labels):
    """A `urlopen` that knows one data set, and the list of addresses it was asked for."""
    content = arff(points, labels)
    n_features = points.shape[1]
    features = [feature(column, f"f{column}", "numeric", False) for column in range(n_features)]
    features.append(feature(n_features, "Class", "nominal", True))
    description = {
        "name": "made-up",
        "version": "1",
        "status": "active",
        "description": "made up by a test",
        "format": "ARFF",
        "file_id": "7",
        "url": "https://www.openml.org/data/v1/download/7/made-up.arff",
        "md5_checksum": hashlib.md5(content).hexdigest(),
    }
    answers = {
        "/data/list/": {"data": {"dataset": [{"did": 7, "name": "made-up", "version": 1, "status": "active"}]}},
        "/data/features/": {"data_features": {"feature": features}},
        "/data/qualities/": {"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": str(len(points))}]}},
        "/json/data/7": {"data_set_description": description},
    }
    asked = []

    def urlopen(request):
        url = request.full_url
        asked.append(url)
        if "download" in url:
            return Answer(content)
        return Answer(json.dumps(next(body for part, body in answers.items() if part in url)).encode())

    return urlopen, asked


def no_network(request):
    raise URLError("Name or service not known")
