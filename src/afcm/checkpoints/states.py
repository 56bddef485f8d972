"""The table of classes that a checkpoint may hold: those that the problem of the fit declares, and the loop's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from afcm.arrays import to_device_of
from afcm.fitting.loop import Progress, Result
from afcm.storage.kinds import Kind, Table, field_names

# The field of a state that is not stored: the fit that reads it has the problem, and with it the data.
PROBLEM = "problem"


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
