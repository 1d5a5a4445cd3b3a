"""Recorded differences: where an engine is known, and allowed, to differ from native."""

from accord_parity.differences.difference import Difference, Kind, checked
from accord_parity.differences.recorded import RECORDED

__all__ = ["RECORDED", "Difference", "Kind", "checked"]
