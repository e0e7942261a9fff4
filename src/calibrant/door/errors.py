"""Errors that calibrant raises when the input cannot be used."""

from __future__ import annotations

__all__ = ["FileError", "InputError"]

from collections.abc import Callable
from functools import partial

NO_VALUE = "row {} has no value"
"""Of a column in which none may be missing."""


class Ways(str):
    """Allowed values in Python's words; `command` says the same in the command line's."""

    command: str

    def __new__(cls, python: str, command: str = "") -> Ways:
        """Python's words are the text itself."""
        ways = super().__new__(cls, python)
        ways.command = command
        return ways


class InputError(ValueError):
    """An argument that cannot be used: the message names it, its first bad row and what is allowed.

    Attributes
    ----------
    argument : str
        The argument at fault, for example ``"y_prob"``.
    row : int or None
        The first bad row, counted from 0, where one row is to blame.
    problem : str
        What is wrong, and where `allowed` is None what is allowed as well.
    allowed : str or None
        What is allowed, where that is a clause of its own; the message has it after the problem.

    See Also
    --------
    FileError
    """

    def __init__(self, argument: str, problem: str, *, row: int | None = None, allowed: str | None = None) -> None:
        self.argument = argument
        self.row = row
        self.problem = problem
        self.allowed = allowed
        super().__init__(f"{argument}: {problem}" + (f"; {allowed}" if allowed else ""))

    def __reduce__(self) -> tuple[Callable[..., InputError], tuple[str, ...]]:
        """Pickle what it was made of: the message alone does not make it again."""
        return partial(type(self), row=self.row, allowed=self.allowed), (self.argument, self.problem)


class FileError(InputError):
    """A file that cannot be read, or a column that is not in it.

    See Also
    --------
    InputError
    """
