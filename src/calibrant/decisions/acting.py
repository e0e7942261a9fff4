"""What acting on the predictions is worth, by threshold, in as few numbers as a picture needs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibrant.decisions.curve import DecisionBand, band_of_sample, breakpoints
from calibrant.decisions.murphy import MurphyDiagram, murphy_from_sample
from calibrant.door.arguments import RandomState
from calibrant.door.columns import FloatArray, IntArray
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.door.values import Result
from calibrant.measures.corp import CorpDecomposition
from calibrant.measures.decision_loss import Cuts

_MOST = 400  # thresholds, and points of each curve


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Acting(Result):
    """Decision curve, its band, and the Murphy diagram, at no more thresholds than a picture needs.

    Attributes
    ----------
    thresholds : ndarray of shape (k,)
        Increasing, in [0, 1): where the curve bends or jumps, at most 400 of them evenly by rank, and the one of the
        cost.
    net_benefit, net_benefit_after, best_net_benefit, treat_all : ndarray of shape (k,)
        As in `DecisionCurve`, exact at these thresholds.
    at : int
        Which of the thresholds is that of the cost.
    base_rate : float
        Share of events.
    band : DecisionBand or None
        For the population's net benefit, where it can be drawn.
    no_band : str or None
        Why there is none.
    murphy : MurphyDiagram
        Elementary scores by threshold, ROC and reliability curve, each thinned in the same way.
    """

    thresholds: FloatArray
    net_benefit: FloatArray
    net_benefit_after: FloatArray
    best_net_benefit: FloatArray
    treat_all: FloatArray
    at: int
    base_rate: float
    band: DecisionBand | None
    no_band: str | None
    murphy: MurphyDiagram

    @property
    def threshold(self) -> float:
        """That of the cost."""
        return float(self.thresholds[self.at])

    def summary(self) -> str:
        """Say what acting is worth at the threshold of the cost."""
        worth = (self.net_benefit, self.best_net_benefit, self.treat_all)
        own, best, every = (float(each[self.at]) for each in worth)
        return (
            f"At the threshold {self.threshold:.4g} the net benefit is {own:.4g}; of the best cut {best:.4g}, of "
            f"acting on all {every:.4g}, on none 0."
        )


def acting_from_sample(
    sample: Sample,
    threshold: float,
    level: float,
    n_resamples: int,
    random_state: RandomState,
    *,
    single: bool = True,
    corp: CorpDecomposition | None = None,
    cuts: Cuts | None = None,
) -> Acting:
    """Decision curve, band and Murphy diagram of a sample; `threshold` is one of the curve's.

    Outcomes that are not `single` are trials of common rows, or rows of common groups; `corp` and `cuts` are the
    sample's if known.
    """
    cuts = Cuts.of(sample) if cuts is None else cuts
    t = np.union1d(_thinned(breakpoints(cuts)), threshold)
    best, now, after = cuts.best_at(t), cuts.now(t), cuts.after(t)
    band: DecisionBand | None = None
    no_band: str | None = "trials of one row, or rows of one group, need not be independent in the population"
    if single:
        band, no_band = _band(sample, t, level, n_resamples, random_state)
    return Acting(
        thresholds=t,
        net_benefit=cuts.worth(t, now),
        net_benefit_after=cuts.worth(t, after),
        best_net_benefit=cuts.worth(t, best),
        treat_all=cuts.worth(t, np.zeros(t.size, np.int64)),
        at=int(np.searchsorted(t, threshold)),
        base_rate=float(cuts.events[-1]),
        band=band,
        no_band=no_band,
        murphy=_thinned_diagram(murphy_from_sample(sample, corp, cuts, _kept)),
    )


def _band(
    sample: Sample, t: FloatArray, level: float, n_resamples: int, random_state: RandomState
) -> tuple[DecisionBand | None, str | None]:
    """The band, or why there is none."""
    if n_resamples == 0:
        return None, "no resamples were asked for"
    if not sample.binary:
        return None, "how many outcomes are behind each event rate is not known here"
    if not np.array_equal(sample.weight, sample.count):
        return None, "rows weigh differently; decision_curve(...).band() draws one from the rows themselves"
    if sample.cell_width.any():
        return None, "rows were pooled into cells"
    try:
        return band_of_sample(sample, t, level, n_resamples, random_state), None
    except InputError as problem:
        return None, f"there are too few of a kind: y_true {problem.problem}; {problem.allowed}"


def _thinned(values: FloatArray) -> FloatArray:
    return values[_kept(values.size)]


def _kept(n: int) -> IntArray:
    """Numbers of at most `_MOST` of n points, evenly, both ends among them."""
    return np.unique(np.linspace(0, n - 1, min(n, _MOST)).round().astype(np.int64))


def _thinned_diagram(found: MurphyDiagram) -> MurphyDiagram:
    """The diagram with some points of the ROC curve (the hull's first) and of the isotonic one."""
    hull = found.on_hull[_kept(found.on_hull.size)]
    points = np.union1d(_kept(found.true_positive_rate.size), hull)
    corp = found.corp
    some = _kept(corp.prediction.size)
    return replace(
        found,
        false_positive_rate=found.false_positive_rate[points],
        true_positive_rate=found.true_positive_rate[points],
        on_hull=np.searchsorted(points, hull),
        corp=CorpDecomposition(
            corp.mean_score,
            corp.miscalibration,
            corp.discrimination,
            corp.uncertainty,
            corp.prediction[some],
            corp.recalibrated[some],
            corp.mass[some],
        ),
    )
