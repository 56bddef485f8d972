"""Public names of a package that are loaded on first use, so that importing the package costs next to nothing."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any


def load_name(package: str, homes: Mapping[str, str], name: str) -> Any:
    """A public name of a package from the module that ``homes`` gives for it; for the package's ``__getattr__``."""
    if name in homes:
        return getattr(import_module(homes[name]), name)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
