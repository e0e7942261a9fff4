"""Which way predictions err, and where, in words: the same of an audit and of a gate that fails."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant.door.values import counted
from calibrant.findings.regions import Region
from calibrant.findings.words import rate
from calibrant.recalibration.gain import Direction

SAID = {
    "too high": "Too high",
    "too low": "Too low",
    "too confident": "Too confident",
    "not confident enough": "Not confident enough",
    "uneven": "Uneven",
}
_TOP = {
    "too high": "Too confident of the likeliest class",
    "too low": "Not confident enough of the likeliest class",
}
"""What it is to predict that class with too much, and with too little."""
_SIDES = {"too low": "low", "too high": "high"}
_LARGE = 0.1  # of the largest error of a range: less is no example
_SURE = 4.0  # posterior standard deviations
_MOST = 0.9  # of the rows, in ranges that stand for all
_SAME = 1e-12  # what is nearer is rounding
_DIGITS = 6  # at most, of two rates that are told apart


@dataclass(frozen=True, slots=True)
class Places:
    """Direction in which predictions err, if it is known, and the ranges in which they clearly do.

    `predicted` and `happened` are rates of all rows; with `classes` they are of the likeliest one.
    """

    direction: Direction | None
    regions: tuple[Region, ...]
    predicted: float
    happened: float
    n_rows: int
    classes: bool

    def examples(self) -> tuple[Region, ...]:
        """Choose the ranges to name: the clearest in the direction, and for faults to both sides the clearest of each.

        If nearly all errors are to one side, a range of the other is named only where it is clear beyond doubt. If
        nearly all rows err one way, all of them are the example. Without a direction it is the clearest of each side.
        """
        if not self.regions:
            return ()
        large = large_ones(self.regions)
        if self.direction in _SIDES:
            one_way = [each for each in self.regions if each.direction == _SIDES[self.direction]]
            same = [each for each in large if each in one_way]
            other = [each for each in self.regions if each not in one_way]
            if sum(each.share for each in one_way) > _MOST:
                low, high = min(each.low for each in one_way), max(each.high for each in one_way)
                same = [Region(low, high, self.predicted, self.happened, None, self.n_rows, 1.0, one_way[0].errors)]
            return (*same[:1], *(each for each in other[:1] if same and each.errors >= _SURE))
        others = [each for each in large if each.direction != large[0].direction]
        return (large[0], *others[:1])

    def sentence(self, examples: tuple[Region, ...], *, slightly: bool = False) -> str:
        """The direction and the examples; without a direction the places that are clear."""
        if self.direction is None:
            if not examples:
                return "Not calibrated, though no range of predictions stands out."
            near = [f"too {each.direction} {self._near(each)}" for each in examples]
            return f"{'; '.join(near).capitalize()}. Which way other predictions err is not clear."
        way = f"Slightly {self.way[0].lower()}{self.way[1:]}" if slightly else self.way
        return f"{way}{self._for_example(examples)}."

    @property
    def way(self) -> str:
        """The direction, as a sentence begins."""
        assert self.direction is not None
        return (SAID | _TOP if self.classes else SAID)[self.direction]

    def backwards(self) -> str:
        """That events are rarer where predictions are higher, with the clearest example."""
        wrong = [each for each in large_ones(self.regions) if (each.predicted - 0.5) * (each.happened - 0.5) < 0.0]
        where = "the higher the prediction, the rarer the event"
        if wrong:
            share, rows = _happened(rate(wrong[0].happened), self.classes), counted(wrong[0].n_rows, "row")
            where = f"where {rate(wrong[0].predicted)} is predicted, {share} ({rows})"
        return f"Backwards, as if yes and no were swapped: {where}."

    def _for_example(self, examples: tuple[Region, ...]) -> str:
        """The clearest place, and for two-sided faults the clearest on the other side."""
        of_all = f" on average: {rates_in_words(self.predicted, self.happened, self.n_rows, self.classes)}"
        if not examples:
            right = (self.happened > self.predicted) == (self.direction == "too low")
            return of_all if self.direction in _SIDES and right else ""
        first, *others = examples
        if self.direction in _SIDES:
            same = of_all if first.share > _MOST else f" {self._near(first)}"
            return same + "".join(
                f"; too {'low' if each.happened > each.predicted else 'high'} {self._near(each)}" for each in others
            )
        near = "; ".join(self._near(each).replace(":", ",", 1) for each in examples)
        return f". {near[0].upper()}{near[1:]}"

    def _near(self, where: Region) -> str:
        """A range of predictions: what is predicted there, what happened, and in how many rows."""
        says, share = two_rates(where.predicted, where.happened)
        place = f"at {rate(where.low)}" if where.low == where.high else f"near {says}"
        return f"{place}: {_happened(share, self.classes)} ({counted(where.n_rows, 'row')})"


def large_ones(regions: tuple[Region, ...]) -> tuple[Region, ...]:
    """The ranges that hold a tenth of the largest error or more, in the order given."""
    error = [each.share * abs(each.mean_error) for each in regions]
    return tuple(each for each, size in zip(regions, error, strict=True) if size >= _LARGE * max(error))


def of_no_use(instead: str, *, better: bool) -> str:
    """That one answer for every row may do as well, or does better, where a correction is proved to gain."""
    does = "does better" if better else "may do as well"
    return f"Of no proved use: predicting {instead} for every row {does}."


def rates_in_words(predicted: float, happened: float, n_rows: int, classes: bool) -> str:
    """Say what is predicted and what happens, or is right, in so many rows."""
    expectation, share = two_rates(predicted, happened)
    return f"{expectation} predicted, {_happened(share, classes)} ({counted(n_rows, 'row')})"


def _happened(share: str, classes: bool) -> str:
    return f"{share} {'were right' if classes else 'happened'}"


def two_rates(one: float, other: float) -> tuple[str, str]:
    """Two rates with as many digits as it takes to tell them apart."""
    shown = rate(one), rate(other)
    if abs(one - other) < _SAME:
        return shown
    for digits in range(1, _DIGITS):
        if shown[0] != shown[1]:
            break
        shown = f"{one:.{digits}%}", f"{other:.{digits}%}"
    return shown
