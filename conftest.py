"""Modules whose optional library is not installed are not collected for their examples."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/calibrant/torch.py"]
