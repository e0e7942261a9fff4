"""Names are looked up when they are first used, so that a namespace imports no library; a missing one is named."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from calibrant.public_names import MODULE_OF

ROOMS = (
    "door",
    "measures",
    "recalibration",
    "inference",
    "decisions",
    "sketch",
    "tables",
    "segments",
    "drift",
    "findings",
    "gate",
    "report",
    "synthetic",
)
"""What `calibrant` gives by attribute besides its own names."""


_INSTALLED_BY = {
    "duckdb": "'calibrant[files]'",
    "pyarrow": "'calibrant[files]'",
    "jinja2": "'calibrant[report]'",
    "markupsafe": "'calibrant[report]'",
    "matplotlib": "'calibrant[report]'",
    "pandas": "pandas",
    "polars": "polars",
    "sklearn": "'calibrant[sklearn]'",
    "typer": "'calibrant[cli]'",
    "torch": "'calibrant[torch]'",
    "torchmetrics": "torchmetrics 'calibrant[torch]'",
    "ignite": "pytorch-ignite 'calibrant[torch]'",
    "lm_eval": "lm_eval",
}


class MissingLibraryError(ModuleNotFoundError):
    """A library is missing that its user installs; the message says how."""


@contextmanager
def optional(user: str, *libraries: str) -> Iterator[None]:
    """Import libraries within, for `user`; an error names a missing one, and how to install it.

    Raises MissingLibraryError if one of them is.
    """
    try:
        yield
    except ModuleNotFoundError as problem:
        missing = missing_library(user, problem)
        if missing is None or missing.name not in libraries:
            raise
        raise missing from None


def missing_library(user: str, exception: ImportError) -> MissingLibraryError | None:
    """The error that says how the library is installed that `user` missed; None where it is no library of an extra."""
    if isinstance(exception, MissingLibraryError):
        return exception
    missing = (exception.name or "").partition(".")[0]
    if not isinstance(exception, ModuleNotFoundError) or missing not in _INSTALLED_BY:
        return None
    sentence = f"{user} needs {missing}, which is not installed: pip install {_INSTALLED_BY[missing]}"
    return MissingLibraryError(sentence, name=missing)


EXTRAS = ("duckdb", "jinja2", "matplotlib", "pyarrow", "sklearn", "typer")
"""Libraries of extras that many functions import where they first need them."""


def above(name: str) -> Any:
    """Look up a module of a room above the caller's, when it is needed; tools/check_imports.py lists who may."""
    return _imported(name, f"calibrant.{name}")


def _imported(module: str, user: str) -> Any:
    """Import a module; a library of an extra that it lacks is named."""
    try:
        return import_module(f"calibrant.{module}")
    except ModuleNotFoundError as problem:
        raise missing_library(user, problem) or problem from None


def offer(
    package: str, public: Iterable[str] | None = None
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a namespace.

    A room offers what the ``__all__`` of its modules name; the package itself offers the chosen names, and the rooms.
    """
    room = package.partition(".")[2]
    rooms = () if room else ROOMS
    names = sorted(
        public if public is not None else (name for name in MODULE_OF if MODULE_OF[name].startswith(f"{room}."))
    )

    def look_up(name: str) -> Any:
        if name in rooms:
            return import_module(f"calibrant.{name}")
        if name not in names:
            from difflib import get_close_matches

            near = get_close_matches(name, [*names, *rooms], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        value = getattr(_imported(MODULE_OF[name], name), name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        own = (name for name in vars(sys.modules[package]) if name.startswith("__"))
        return sorted({*own, *names, *rooms})

    return names, look_up, listed
