"""The tool that knows what follows from a measure's registration, as a module."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import registered as TOOL  # noqa: N812

__all__ = ["TOOL"]
