"""Import optional packages, or say in a sentence what to install."""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import import_module, metadata
from typing import Any

from afcm._util.messages import warn_user
from afcm.exceptions import AFCMWarning


def require(module: str, extra: str, purpose: str, name: str | None = None) -> Any:
    """Import a module of an optional package; ``name`` is what people call the package.

    Raises an ImportError that names the extra to install if the package is missing or too old.
    """
    package = module.partition(".")[0]
    name = name or package
    try:
        found = import_module(module)
    except ImportError as error:
        raise ImportError(f"{purpose} {name}: pip install 'afcm[{extra}]'") from error
    bound, version = lowest_version(package), installed_version(package)
    if bound and version and parse_version(version) < parse_version(bound):
        raise ImportError(f"{purpose} {name} {bound} or newer, and this is {version}: pip install -U 'afcm[{extra}]'")
    return found


def is_usable(package: str, extra: str) -> bool:
    """Can a package that only makes things faster be used? Warns if it is installed and cannot."""
    try:
        require(package, extra, "afcm can use")
    except ImportError as error:
        reason = error.__cause__ or error
        if getattr(reason, "name", None) != package:
            warn_user(f"{package} is not used, so this is slower: {reason}", AFCMWarning)
        return False
    return True


def is_loaded(package: str, extra: str) -> bool:
    """Is a package that makes things faster in use already? Little work is not worth loading it."""
    return package in sys.modules and is_usable(package, extra)


@cache  # reading what is installed takes milliseconds, and products of matrices ask
def installed_version(package: str) -> str:
    """The version of a package, empty if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


@cache
def lowest_version(package: str) -> str:
    """The oldest version that the requirements of afcm allow, empty if they name none."""
    try:
        requirements = metadata.requires("afcm") or []
    except metadata.PackageNotFoundError:
        return ""
    bounds = (re.match(rf"{re.escape(package)}\s*>=\s*([\d.]+)", text, re.IGNORECASE) for text in requirements)
    return next((bound[1] for bound in bounds if bound), "")


def parse_version(version: str) -> tuple[int, ...]:
    """``"2.10.1rc1"`` → ``(2, 10, 1)``."""
    return tuple(int(part) for part in re.findall(r"\d+", re.match(r"[\d.]*", version)[0]))  # type: ignore[index]
