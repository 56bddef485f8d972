"""Runs the first Python example of a Markdown page as a new user would: with what is installed here, and nothing else.

python trust/first_lines.py README.md
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path


def run_first_example(page: Path) -> doctest.TestResults:
    """Failed and attempted lines of the first block that begins with ``>>>``."""
    block = re.search(r"```python\n(>>>.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    if block is None:
        raise ValueError(f"{page} has no example that begins with >>>")
    test = doctest.DocTestParser().get_doctest(block.group(1), {}, page.name, str(page), 0)
    return doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)


if __name__ == "__main__":
    result = run_first_example(Path(sys.argv[1]))
    print(f"{result.attempted} lines with Python {sys.version.split()[0]}, {result.failed} wrong")
    raise SystemExit(bool(result.failed) or result.attempted < 5)
