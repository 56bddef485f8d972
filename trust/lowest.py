"""The lowest versions that pyproject.toml promises, as pins: ``python -m trust.lowest test dask`` prints them.

`make lowest` installs exactly these in an environment of their own and runs the tests there. Each line of an extra is
a promise of its own; where two name the same package the higher bound counts, since no environment has less.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

# Newer than the lowest matplotlib and typer, which they answer with warnings.
COMPANIONS = ["click<8.3", "pyparsing<3.3"]
PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def requirements(project: dict, extras: list[str]) -> Iterator[Requirement]:
    """Requirements of the package, and of extras with the extras they name in turn."""
    lines = [*project["dependencies"]]
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    for line in lines:
        requirement = Requirement(line)
        if requirement.name == project["name"]:
            yield from requirements({**project, "dependencies": []}, sorted(requirement.extras))
        else:
            yield requirement


def lowest(requirement: Requirement) -> Version:
    """Bound of ``>=``; a requirement without one promises a version that nobody tries."""
    bounds = [Version(part.version) for part in requirement.specifier if part.operator == ">="]
    if len(bounds) != 1:
        raise ValueError(f"{requirement} has no lower bound; write {requirement.name}>= with a version that is tested")
    return bounds[0]


def pins(extras: list[str]) -> list[str]:
    """List ``name==version``, one a package."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    bounds: dict[str, Version] = {}
    named: dict[str, str] = {}
    for requirement in requirements(project, extras):
        name, bound = requirement.name, lowest(requirement)
        bounds[name] = max(bound, bounds.get(name, bound))
        named.setdefault(name, f"{name}[{','.join(sorted(requirement.extras))}]" if requirement.extras else name)
    return [f"{named[name]}=={bound}" for name, bound in sorted(bounds.items())]


if __name__ == "__main__":
    print("\n".join(pins(sys.argv[1:]) + COMPANIONS))
