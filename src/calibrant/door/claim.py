"""Claims: results with what they take as given."""

from __future__ import annotations

from typing import Any

from calibrant.door.premises import Premises
from calibrant.door.values import Result


class Claim(Result):
    """Base of results that are proved: their words and plain values end with what they take as given."""

    __slots__ = ()
    premises: Premises

    @property
    def sentence(self) -> str:
        """Say what is proved, alone."""
        raise NotImplementedError

    def summary(self) -> str:
        """One sentence, and what it takes as given."""
        return f"{self.sentence}\n{self.premises.summary()}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, with a sentence for each premise."""
        return {**Result.to_dict(self), "premises": self.premises.to_dict()}
