"""Libraries that calibrant does not bring along: how each is installed, said where it is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_INSTALLED_BY = {
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

    Raises
    ------
    MissingLibraryError
        If one of them is.
    """
    try:
        yield
    except ModuleNotFoundError as problem:
        missing = (problem.name or "").partition(".")[0]
        if missing not in libraries:
            raise
        sentence = f"{user} needs {missing}, which is not installed: pip install {_INSTALLED_BY[missing]}"
        raise MissingLibraryError(sentence, name=missing) from None
