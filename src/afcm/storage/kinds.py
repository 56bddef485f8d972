"""Tables of the classes that a file may hold: the codec knows no class itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from afcm.storage.errors import FormatError

UPGRADE = "it may be from a newer afcm: pip install -U afcm"


@dataclass(frozen=True)
class Kind:
    """A data class or named tuple that a file may hold."""

    cls: type
    state: Mapping[str, Any]  # the fields that are stored, with anything that whoever made the table wants to know
    given: Mapping[str, Callable[[], Any]] = field(default_factory=dict)  # the others: made when an instance is read
    newer: frozenset[str] = field(
        default=frozenset(), kw_only=True
    )  # fields with a default that files of older versions lack

    def take_apart(self, value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Parameters of the constructor (of estimators only), and the state."""
        return {}, {name: getattr(value, name) for name in self.state}

    def check_names(self, name: str, params: set[str], state: set[str]) -> None:
        """Raise `FormatError` unless a file has what an instance is made of, and nothing else."""
        check_known(name, params | (state - set(self.state)))
        missing = sorted(set(self.state) - state - self.newer)
        if missing:
            raise FormatError(f"lacks {missing[0]!r} of {name}")

    def put_together(self, params: dict[str, Any], state: dict[str, Any]) -> Any:
        """An instance from what `take_apart` gave."""
        return self.cls(**state, **{name: make() for name, make in self.given.items()})


Table = Mapping[str, Kind]  # by the names in the file


def check_known(name: str, unknown: set[str]) -> None:
    if unknown:
        raise FormatError(f"holds {min(unknown)[:80]!r} of {name}, which is not known", UPGRADE)


def field_names(cls: Any) -> list[str]:
    """The fields of a data class or named tuple that its constructor takes."""
    return list(cls._fields) if hasattr(cls, "_fields") else [item.name for item in fields(cls) if item.init]
