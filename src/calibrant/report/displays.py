"""Pictures with scikit-learn's Display habit: from predictions or from an estimator, on axes of one's own."""

from __future__ import annotations

__all__ = ["DistanceChainDisplay", "ReliabilityDisplay"]

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from calibrant.door.arguments import check_level, one_of
from calibrant.door.columns import Column, FloatArray
from calibrant.door.ends import Bracket
from calibrant.door.errors import InputError
from calibrant.door.sample import Sample
from calibrant.door.values import short_repr
from calibrant.findings.arrays import audit
from calibrant.findings.reliability import Reliability, reliability
from calibrant.kernels.sums import dot
from calibrant.measures.smooth import Witness, witness_from_sample
from calibrant.report.diagram import draw_density, draw_diagram, draw_named, draw_witness
from calibrant.report.style import Look, colour, models, new_axes, with_earlier

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_BELOW = 0.2  # of a row, for each model that is drawn below another


@dataclass(eq=False)
class ReliabilityDisplay:
    """A reliability diagram with its simultaneous band, and how many rows are where.

    Attributes
    ----------
    reliability : Reliability
        The table behind the curve and the band.
    witness : Witness
        Of the smooth calibration error.
    base_rate : float
        Mean outcome.
    level : float
        The band holds the whole curve with posterior probability 1 - level.
    ax_ : Axes
        What was drawn on last.

    See Also
    --------
    DistanceChainDisplay, Audit

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import ReliabilityDisplay
    >>> y_prob = np.random.default_rng(0).random(500)
    >>> display = ReliabilityDisplay.from_predictions(y_prob > 0.4, y_prob)
    >>> display.ax_.get_xlabel()
    'prediction'
    """

    reliability: Reliability
    witness: Witness
    base_rate: float
    level: float
    ax_: Axes | None = None

    __repr__ = short_repr

    @classmethod
    def from_predictions(
        cls,
        y_true: Column,
        y_prob: Column,
        *,
        sample_weight: Column | None = None,
        level: float = 0.05,
        axis: Literal["auto", "linear", "log-odds"] = "auto",
        ax: Axes | None = None,
        name: str | None = None,
        label: str | None = None,
        color: Any = None,
    ) -> Self:
        """Draw outcomes against predictions.

        Parameters
        ----------
        y_true, y_prob, sample_weight
            As for `audit`.
        level : float, default 0.05
            The band holds the whole curve with posterior probability 1 - level.
        axis : {"auto", "linear", "log-odds"}
            Scale of both axes; "auto" takes log-odds where more than half of the rows lie in the corners of a linear
            axis.
        ax : matplotlib Axes, optional
            New ones by default.
        name : str, optional
            What the legend calls the model, with a number behind it. Several may then be drawn on one `ax`, each as its
            curve and band alone.
        label : str, optional
            What the legend says, in place of the name and the number.
        color : color of matplotlib, optional
            Of the curve and its band, drawn likewise; by default the next of the style that matplotlib is set to.

        Returns
        -------
        ReliabilityDisplay
            Drawn already; ``plot`` draws it again.

        Raises
        ------
        InputError
            If a column or option cannot be used.
        """
        sample = Sample.from_columns(y_true, y_prob, sample_weight)
        one_of(axis, ("auto", "linear", "log-odds"), "axis")
        table = reliability(sample, check_level(level), axis=None if axis == "auto" else axis)
        rate = float(dot(sample.mass(), sample.prediction) + sample.residual().sum())
        return cls(table, witness_from_sample(sample), min(1.0, max(0.0, rate)), float(level)).plot(
            ax, name=name, label=label, color=color
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,  # noqa: N803
        y: Column,
        *,
        sample_weight: Column | None = None,
        pos_label: Any = None,
        level: float = 0.05,
        axis: Literal["auto", "linear", "log-odds"] = "auto",
        ax: Axes | None = None,
        name: str | None = None,
        label: str | None = None,
        color: Any = None,
    ) -> Self:
        """Draw the probabilities that a fitted classifier of two classes predicts; the rest as `from_predictions`."""
        return cls.from_predictions(
            *predicted(estimator, X, y, pos_label),
            sample_weight=sample_weight,
            level=level,
            axis=axis,
            ax=ax,
            name=name,
            label=label,
            color=color,
        )

    def __getstate__(self) -> dict[str, Any]:
        """What a copy takes along: the numbers, not the drawing."""
        return {**self.__dict__, "ax_": None}

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, label: str | None = None, color: Any = None
    ) -> Self:
        """Draw the diagram on `ax`, new ones by default; with a name, label or color as one of several."""
        look = Look(name, label, color)
        self.ax_ = draw_named(self, ax, look) if look else draw_diagram(self, ax)
        return self

    def plot_counts(
        self, ax: Axes | None = None, *, name: str | None = None, label: str | None = None, color: Any = None
    ) -> Axes:
        """Draw how many rows each range of predictions has; options as for `plot`."""
        return draw_density(self, ax if ax is not None else new_axes(), Look(name, label, color))

    def plot_witness(
        self, ax: Axes | None = None, *, name: str | None = None, label: str | None = None, color: Any = None
    ) -> Axes:
        """Draw the weighting of predictions that proves the smooth error; options as for `plot`."""
        return draw_witness(self, ax if ax is not None else new_axes(), Look(name, label, color))


@dataclass(eq=False)
class DistanceChainDisplay:
    """The distances and errors in the order that theory proves, on one axis.

    Attributes
    ----------
    names : tuple of str
        What is drawn, from the top.
    brackets : tuple of Bracket
        Proved bracket of each; both ends are equal if the value is known.
    ax_ : Axes
        What was drawn on last.

    See Also
    --------
    ReliabilityDisplay, calibration_distance

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.report import DistanceChainDisplay
    >>> y_prob = np.random.default_rng(0).random(500)
    >>> display = DistanceChainDisplay.from_predictions(y_prob > 0.4, y_prob)
    >>> display.names[0]
    'smooth error / 2'
    """

    names: tuple[str, ...]
    brackets: tuple[Bracket, ...]
    ax_: Axes | None = None

    __repr__ = short_repr

    @classmethod
    def from_predictions(
        cls,
        y_true: Column,
        y_prob: Column,
        *,
        sample_weight: Column | None = None,
        ax: Axes | None = None,
        name: str | None = None,
        label: str | None = None,
        color: Any = None,
    ) -> Self:
        """Compute and draw the chain; columns as for `audit`, the rest as for `ReliabilityDisplay.from_predictions`."""
        result = audit(y_true, y_prob, sample_weight=sample_weight, n_resamples=0, random_state=0)
        ties, values = result.ties, result.measures
        chain: list[tuple[str, Bracket]] = [
            ("smooth error / 2", Bracket(result.smooth_lower / 2.0, result.smooth_upper / 2.0)),
            ("lower distance", ties.lower_distance_bracket),
            ("true distance", ties.true_distance),
        ]
        for name, words in (
            ("interval_calibration_error", "interval error"),
            ("surrogate_interval_calibration_error", "surrogate interval error"),
            ("binned_calibration_error_bound", "binned error + width"),
        ):
            value = values[name].value
            if value is not None:
                chain.append((words, Bracket(value, value)))
        names, brackets = zip(*chain, strict=True)
        return cls(names, brackets).plot(ax, name=name, label=label, color=color)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,  # noqa: N803
        y: Column,
        *,
        sample_weight: Column | None = None,
        pos_label: Any = None,
        ax: Axes | None = None,
        name: str | None = None,
        label: str | None = None,
        color: Any = None,
    ) -> Self:
        """Draw the chain of a fitted classifier of two classes; the rest as `from_predictions`."""
        return cls.from_predictions(
            *predicted(estimator, X, y, pos_label),
            sample_weight=sample_weight,
            ax=ax,
            name=name,
            label=label,
            color=color,
        )

    def __getstate__(self) -> dict[str, Any]:
        """What a copy takes along: the numbers, not the drawing."""
        return {**self.__dict__, "ax_": None}

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, label: str | None = None, color: Any = None
    ) -> Self:
        """Draw the chain on `ax`, new ones by default; with a name, label or color as one of several."""
        self.ax_ = ax = ax if ax is not None else new_axes()
        at = np.arange(len(self.names))[::-1]
        lower, upper = zip(*self.brackets, strict=True)
        across = (0.0, 1.05 * max(*upper, 1e-6))
        if look := Look(name, label, color):
            across, _ = with_earlier(ax, across, (0.0, 0.0))
            below = at - _BELOW * models(ax)
            line = look.line(ax, [*lower, *upper], [*below, *below], points=True)
            ax.hlines(below, lower, upper, color=line.get_color(), alpha=0.5, lw=3)
            look.finish(ax)
        else:
            ax.hlines(at, lower, upper, color=colour("bars"), lw=6)
            ax.plot(lower, at, "|", color=colour("curve"), ms=14, mew=2)
            ax.plot(upper, at, "|", color=colour("curve"), ms=14, mew=2)
        ax.set_yticks(at, self.names)
        ax.set_xlim(*across)
        ax.set_xlabel("each is at most\nthe next one down")
        return self


def predicted(estimator: Any, X: Any, y: Column, pos_label: Any) -> tuple[FloatArray, FloatArray]:  # noqa: N803
    """Outcomes and probabilities of the positive class of a fitted classifier."""
    classes = list(getattr(estimator, "classes_", ()))
    if len(classes) != 2:
        raise InputError("estimator", f"has {len(classes)} classes; it must be a fitted classifier of two")
    positive = classes[1] if pos_label is None else pos_label
    if positive not in classes:
        raise InputError("pos_label", f"is {positive!r:.40}; it must be one of {classes}")
    table = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    return (np.asarray(y) == positive).astype(np.float64), table[:, classes.index(positive)]
