"""Optional packages: there and new enough, or a sentence that says what to install."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module, metadata
from typing import Any

from afcm._util.messages import warn_user
from afcm.exceptions import AFCMWarning


def require(module: str, extra: str, purpose: str, name: str | None = None) -> Any:
    """The module, or an ImportError that says which extra of this package brings it (``name``: how people call it)."""
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
    """Whether a package that only makes things faster can be used; a word if it is there and cannot."""
    try:
        require(package, extra, "afcm can use")
    except ImportError as error:
        reason = error.__cause__ or error
        if getattr(reason, "name", None) != package:
            warn_user(f"{package} is not used, so this is slower: {reason}", AFCMWarning)
        return False
    return True


def installed_version(package: str) -> str:
    """The version of an installed package, or nothing."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


@cache
def lowest_version(package: str) -> str:
    """The oldest version this package's own requirements allow, or nothing."""
    try:
        requirements = metadata.requires("afcm") or []
    except metadata.PackageNotFoundError:
        return ""
    bounds = (re.match(rf"{re.escape(package)}\s*>=\s*([\d.]+)", text, re.IGNORECASE) for text in requirements)
    return next((bound[1] for bound in bounds if bound), "")


def parse_version(version: str) -> tuple[int, ...]:
    """``"2.10.1rc1"`` → ``(2, 10, 1)``."""
    return tuple(int(part) for part in re.findall(r"\d+", re.match(r"[\d.]*", version)[0]))  # type: ignore[index]
