"""One HTML file about a fitted soft clustering: what was found, who is in doubt, and how it was made.

The page needs no server, no network and no library. `Findings` holds everything it shows; `write_report` writes it.
"""

from afcm.report.findings import Findings
from afcm.report.page import write_report

__all__ = ["Findings", "write_report"]
