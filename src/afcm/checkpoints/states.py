"""The state of a fit as plain values, and back.

Data classes and named tuples become dicts of their fields; which class a dict was is not in the file but in the
annotations: a problem's ``sweep`` says what its states are. A field ``problem`` (the data) is not stored.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

import numpy as np

from afcm.arrays import from_host, is_tensor, to_host
from afcm.checkpoints.files import CheckpointError
from afcm.fitting.loop import Progress, Result

# The field of a state that is given back by whoever revives it.
PROBLEM = "problem"
PLAIN = (bool, int, float, str, np.generic, np.ndarray)


def field_names(kind: Any) -> list[str]:
    """The fields of a data class or named tuple; none of anything else."""
    if is_dataclass(kind):
        return [field.name for field in fields(kind) if field.init]
    return list(getattr(kind, "_fields", ()))


def plain(value: Any) -> Any:
    """Dicts of arrays on the host, numbers and None."""
    names = field_names(value)
    if names:
        return {name: plain(getattr(value, name)) for name in names if name != PROBLEM}
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    value = to_host(value)
    if value is not None and not isinstance(value, PLAIN):
        raise TypeError(f"a checkpoint cannot hold a {type(value).__name__}; give states fields of arrays and numbers")
    return value


def revived_progress(tree: Any, problem: Any, place: Any) -> Progress[Any]:
    """How far a fit was."""
    check_names(tree, Progress)
    best, current = (None if tree[name] is None else revived_result(tree[name], problem, place) for name in RUNS)
    return Progress(int(tree["n_ended"]), best, current)


RUNS = ("best", "current")


def revived_result(tree: Any, problem: Any, place: Any) -> Result[Any]:
    """How far a run was; its history stays on the host."""
    check_names(tree, Result)
    state = revived(get_type_hints(type(problem).sweep)["return"], tree["state"], problem, place)
    return Result(state, tree["history"], int(tree["n_iter"]), bool(tree["converged"]))


def revived(kind: Any, tree: Any, problem: Any, place: Any) -> Any:
    """An instance of a data class or named tuple, its arrays where ``place`` is; any other value as it is."""
    names = field_names(kind)
    if not names:
        return from_host(tree, place) if isinstance(tree, np.ndarray) and is_tensor(place) else tree
    check_names(tree, kind)
    hints = get_type_hints(kind)
    values = {name: problem if name == PROBLEM else revived(hints[name], tree[name], problem, place) for name in names}
    return kind(**values)


def check_names(tree: Any, kind: Any) -> None:
    """Exactly the fields of this class."""
    wanted = {name for name in field_names(kind) if name != PROBLEM}
    if not isinstance(tree, dict) or set(tree) != wanted:
        raise CheckpointError(f"does not hold a {kind.__name__} of this version")
