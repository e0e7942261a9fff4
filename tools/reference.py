"""Which names the book's reference shows: public ones, and of special methods those that a reader writes as syntax."""

from __future__ import annotations

from typing import Any

import griffe

WRITTEN = {"__add__", "__call__", "__iter__", "__len__"}


class Public(griffe.Extension):
    """Hides special methods that are how a class does something, not what it offers."""

    def on_function_instance(self, *, func: griffe.Function, **_rest: Any) -> None:
        """Called by griffe for every function that it has read."""
        if func.name.startswith("__") and func.name not in WRITTEN:
            func.public = False
