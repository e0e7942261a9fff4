"""The list of measures, which the audit, the contract tests, the command line and the docs all read.

A measure is registered where it is defined::

    def _from_sample(sample: Sample) -> float: ...

    @register(
        _from_sample,
        sentence="One sentence that says what the number means.",
        definition="What is computed, in words or symbols.",
        source="Who defined it, and where.",
        symmetric=True,
        order=100,
    )
    def my_calibration_error(y_true, y_prob, *, sample_weight=None) -> float:
        return _from_sample(Sample.from_columns(y_true, y_prob, sample_weight))

and `tests/oracles/` holds its slow twin of the same name. A module of this room that registers is a family: nothing
lists families. What follows from a registration, ``python tools/registered.py`` writes.
"""

from __future__ import annotations

__all__ = ["Measure", "measures"]

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from calibrant.door.values import ReadOnly, Registry, Result


@dataclass(frozen=True, repr=False)
class Measure(Result):
    """One registered measure.

    Attributes
    ----------
    name : str
        Its public name.
    function : callable
        ``(y_true, y_prob, *, sample_weight=None, **parameters) -> float``.
    on_sample : callable
        ``(sample, **parameters) -> float``, for callers that hold a `Sample` already.
    sentence : str
        What the number means.
    definition : str
        What is computed.
    source : str
        Who defined it, and where.
    symmetric : bool
        Whether replacing p by 1 - p and y by 1 - y leaves it unchanged.
    order : int
        Its place in the report, the least first; measures of equal order are sorted by name.
    parameters : mapping
        Values for the parameters that have no default, used if the caller gives none.
    maximum_rows : int or None
        The most distinct predictions for which the audit computes it by default.
    when_resampled : mapping
        Values of parameters to use instead in resamples, where the last digits are costly and smaller than the noise.
    on_rows : callable or None
        ``(outcomes, predictions, weights or None, **parameters) -> float`` for resamples of many rows, where it takes
        less than sorting them as a sample.

    See Also
    --------
    measures, MeasureValue
    """

    name: str
    function: Callable[..., float]
    on_sample: Callable[..., float]
    sentence: str
    definition: str
    source: str
    symmetric: bool
    order: int
    parameters: Mapping[str, Any] = field(default_factory=lambda: ReadOnly({}))
    maximum_rows: int | None = None
    when_resampled: Mapping[str, Any] = field(default_factory=lambda: ReadOnly({}))
    on_rows: Callable[..., float] | None = None

    def summary(self) -> str:
        """Say what it means and how it is defined."""
        return f"{self.name}: {self.sentence} {self.definition}"

    @property
    def title(self) -> str:
        """The name in words."""
        return self.name.replace("_", " ").capitalize()

    @property
    def family(self) -> str:
        """The module that it is defined in."""
        return self.function.__module__.rpartition(".")[2]


F = TypeVar("F", bound=Callable[..., float])
_MEASURES: Registry[Measure] = Registry("measure", __name__.rpartition(".")[0])


def register(
    on_sample: Callable[..., float],
    *,
    sentence: str,
    definition: str,
    source: str,
    symmetric: bool,
    order: int,
    parameters: Mapping[str, Any] | None = None,
    maximum_rows: int | None = None,
    when_resampled: Mapping[str, Any] | None = None,
    on_rows: Callable[..., float] | None = None,
) -> Callable[[F], F]:
    """Enter the decorated public function in the list of measures, and return it unchanged.

    Raises ValueError if a text is empty, or the function is not defined in a module of this room.
    """

    def enter(function: F) -> F:
        entry = Measure(
            function.__name__,
            function,
            on_sample,
            sentence,
            definition,
            source,
            symmetric,
            order,
            ReadOnly(parameters or {}),
            maximum_rows,
            ReadOnly(when_resampled or {}),
            on_rows,
        )
        _MEASURES.enter(entry, function.__module__, sentence=sentence, definition=definition, source=source)
        return function

    return enter


def measures() -> Mapping[str, Measure]:
    """All registered measures by name, in the order of the report; the same on every call.

    Returns
    -------
    mapping of str to Measure
        What each means, how it is computed, and who defined it.

    See Also
    --------
    audit, calibration_scorer

    Examples
    --------
    >>> from calibrant.measures import measures
    >>> measures()["smooth_calibration_error"].title
    'Smooth calibration error'
    """
    return _MEASURES.entries()
