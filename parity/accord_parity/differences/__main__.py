"""Print the page of recorded differences: `python -m accord_parity.differences > FILE`."""

from __future__ import annotations

import sys

from accord_parity.differences.page import differences_page
from accord_parity.differences.recorded import RECORDED

if __name__ == "__main__":
    sys.stdout.write(differences_page(RECORDED))
