"""Describe a model file from its document alone, without reading an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from afcm.storage.errors import FormatError

PIPELINE = "sklearn.Pipeline"


@dataclass(frozen=True)
class ModelInfo:
    """The description of a model file, from `read_info`.

    Attributes
    ----------
    format, schema : str, int
        The format's name and version.
    versions : dict
        Of afcm, python, numpy, scipy and scikit-learn when the model was saved.
    estimator : str
        The class; of a pipeline, of its last step.
    parameters : dict
        Of that estimator; arrays are described by a string.
    fitted : dict
        Its fitted numbers and words, ``n_samples`` and ``n_clusters``; empty if it is not fitted.
    steps : tuple of str
        The classes of a pipeline's steps; of a plain estimator, its own.
    info : dict
        What the caller of `save_model` noted.

    Examples
    --------
    >>> import os, tempfile
    >>> from afcm import PlainAFCM, read_info, save_model
    >>> model = PlainAFCM(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
    >>> info = read_info(save_model(model, os.path.join(tempfile.mkdtemp(), "a.afcm"), info={"data": "four numbers"}))
    >>> info.estimator, info.fitted["n_samples"], info.info
    ('PlainAFCM', 4, {'data': 'four numbers'})
    """

    format: str
    schema: int
    versions: dict[str, str]
    estimator: str
    parameters: dict[str, Any]
    fitted: dict[str, Any]
    steps: tuple[str, ...]
    info: dict[str, Any]


def describe_model(document: dict[str, Any]) -> ModelInfo:
    """Describe the document of a file whose format and schema are right."""
    steps = find_steps(document["model"])
    node = steps[-1]
    return ModelInfo(
        format=document["format"],
        schema=document["schema"],
        versions={str(name): str(version) for name, version in document["versions"].items()},
        estimator=node["object"],
        parameters={name: describe_value(value) for name, value in node["params"].items()},
        fitted=describe_fit(node["state"]),
        steps=tuple(step["object"] for step in steps),
        info=document["info"],
    )


def find_steps(node: Any) -> list[dict[str, Any]]:
    if not is_object(node):
        raise FormatError("holds no model")
    if node["object"] != PIPELINE:
        return [node]
    steps = node["params"].get("steps")
    pairs = [step.get("tuple") for step in (steps if isinstance(steps, list) else []) if isinstance(step, dict)]
    found = [pair[1] for pair in pairs if isinstance(pair, list) and len(pair) == 2 and is_object(pair[1])]
    if not found:
        raise FormatError("holds a Pipeline without steps")
    return found


def is_object(node: Any) -> bool:
    if not isinstance(node, dict) or set(node) != {"object", "params", "state"}:
        return False
    return [type(node[name]) for name in ("object", "params", "state")] == [str, dict, dict]


def describe_fit(state: dict[str, Any]) -> dict[str, Any]:
    """Numbers and words of the fit; its sizes from the shape of the memberships."""
    memberships = state.get("memberships_")
    shape = memberships.get("shape", memberships.get("csr")) if isinstance(memberships, dict) else None
    sizes = dict(zip(("n_samples", "n_clusters"), shape, strict=False)) if isinstance(shape, list) else {}
    plain = {name: node for name, node in state.items() if not isinstance(node, (list, dict)) or "scalar" in node}
    return {**sizes, **{name: describe_value(node) for name, node in plain.items() if not name.startswith("_")}}


def describe_value(node: Any) -> Any:
    """A plain value as it is, an array or an object in a few words."""
    if isinstance(node, list):
        return [describe_value(item) for item in node]
    if not isinstance(node, dict) or not node:
        return node
    tag, inner = next(iter(node.items()))
    if tag == "array":
        return f"array {node['dtype']} {node['shape']}"
    if tag == "dict":
        return {key: describe_value(item) for key, item in inner.items()}
    if tag == "scalar":
        return describe_value(inner[1])
    return float(inner) if tag == "float" else describe_value(inner)
