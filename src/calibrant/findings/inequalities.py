"""The inequalities that tie the measures together, checked on the sample at hand, and what they say of distance.

Each is a theorem, so a failure beyond rounding is an error in this library, and the audit says so first of all.
Theorems and definitions without a name are those of Błasiok, Gopalan, Hu and Nakkiran (2023).
"""

from __future__ import annotations

__all__ = ["Inequality"]

from collections.abc import Mapping
from dataclasses import dataclass

from calibrant.door.ends import Bracket
from calibrant.door.sample import Sample
from calibrant.door.values import Result
from calibrant.findings import word_catalogue as say
from calibrant.inference.bounds.population import (
    KERNEL,
    SHIFTED,
    most_convolved_error,
    most_interval_error,
    most_random_interval_error,
    most_surrogate,
)
from calibrant.measures.corp import CorpDecomposition
from calibrant.measures.lower import LowerCertificate
from calibrant.measures.registry import measures
from calibrant.measures.smooth import Witness

_ROUNDING = 1e-9
_QUADRATURE = 1e-4  # what the convolved error promises
_ROOT = "squares of two bins (docs/two-bin.md)"
_LEVEL_SETS = "error of single distinct predictions"
_CONSTANTS = "docs/constants.md"


@dataclass(frozen=True, slots=True, repr=False)
class Inequality(Result):
    """One inequality between two numbers of this sample.

    Attributes
    ----------
    left, right : str
        What is compared, in words.
    left_value, right_value : float
        The two numbers.
    source : str
        Why it must hold.
    tolerance : float
        How far `left_value` may exceed `right_value` through rounding.

    See Also
    --------
    Audit, audit
    """

    left: str
    right: str
    left_value: float
    right_value: float
    source: str
    tolerance: float = _ROUNDING

    @property
    def holds(self) -> bool:
        """Whether left <= right, up to rounding."""
        return self.left_value <= self.right_value + self.tolerance

    @property
    def words(self) -> str:
        """Both sides in words."""
        return f"{self.left} <= {self.right}"

    def summary(self) -> str:
        """Say whether it holds."""
        verdict = "holds" if self.holds else say.FAILS
        return f"{self.words} {verdict}: {self.left_value:.6g} and {self.right_value:.6g} ({self.source})"


@dataclass(frozen=True, slots=True, repr=False)
class Ties(Result):
    """Inequalities between the measures of one sample."""

    _parts = "inequalities"
    inequalities: tuple[Inequality, ...]  # every inequality whose two sides are known
    # true_distance, lower_distance_bracket: where the true distance from calibration, for any features, and the lower
    # distance must lie
    true_distance: Bracket
    lower_distance_bracket: Bracket
    # proofs_of_true, proofs_of_lower: what proves the lower and the upper end of each
    proofs_of_true: tuple[str, str]
    proofs_of_lower: tuple[str, str]

    def summary(self) -> str:
        """Say where the true distance lies, and whether every inequality holds."""
        failed = sum(not each.holds for each in self.inequalities)
        all_hold = f"{len(self.inequalities)} inequalities hold" if not failed else f"{failed} inequalities fail"
        return say.TRUE_DISTANCE.format(ends=self.true_distance.summary(), all_hold=all_hold)


def tie(
    sample: Sample,
    witness: Witness,
    certificate: LowerCertificate,
    nearest: float,
    corp: CorpDecomposition,
    values: Mapping[str, float | None],
) -> Ties:
    """Check every inequality whose two sides are known, and bracket the distances from calibration.

    Parameters
    ----------
    sample : Sample
        The sample.
    witness : Witness
        Its witness, with the dual bound.
    certificate : LowerCertificate
        Of its lower distance.
    nearest : float
        Distance of a calibrated post-processing, rounded up.
    corp : CorpDecomposition
        Of its Brier score.
    values : mapping of str to float or None
        Values of the registered measures by name; None where one was not computed.
    """
    known = {name: value for name, value in values.items() if value is not None}
    smooth = known["smooth_calibration_error"]
    bias = abs(float(sample.residual().sum()))
    level_sets = measures()["expected_calibration_error"].on_sample(sample, strategy="exact")
    convolved = known.get("convolved_calibration_error")
    below_lower, above_lower = certificate.lower, certificate.upper
    uppers = _upper_bounds(known, level_sets)
    attained = {**uppers, "post-processing that reaches it": nearest}
    upper_source, upper = min(attained.items(), key=lambda item: item[1])

    inequalities = [
        Inequality("witness's value", "smooth error", witness.value, smooth, "the witness is feasible"),
        Inequality("smooth error", "dual bound", smooth, witness.upper, "weak duality"),
        Inequality("|mean error|", "smooth error", bias, smooth, "Definition 7.2: constants are witnesses"),
        Inequality("smooth error", _LEVEL_SETS, smooth, level_sets, "Definition 7.2: |witness| <= 1"),
        Inequality("potentials' value", "coupling's cost", below_lower, above_lower, "weak duality"),
        Inequality("smooth error / 2", "lower distance", smooth / 2, above_lower, "Theorem 7.3"),
        Inequality("lower distance / 2", "smooth error", below_lower / 2, smooth, say.HALF_DIFFERENCE),
        Inequality("|mean error|", "lower distance", bias, above_lower, "Jensen"),
        Inequality("lower distance", "nearest post-processing found", below_lower, nearest, "Lemma 5.4"),
    ]
    inequalities += [
        Inequality("lower distance", words, below_lower, value, _WHY_ABOVE_DISTANCE[words.split(",")[0]])
        for words, value in uppers.items()
    ]
    if "interval_calibration_error" in known:
        interval, most = known["interval_calibration_error"], most_interval_error(above_lower)
        inequalities += [
            Inequality("interval error", words, interval, value, source)
            for words, value, source in (*_above_interval(known, level_sets), (say.MOST_INTERVAL, most, _CONSTANTS))
        ]
    if "surrogate_interval_calibration_error" in known:
        surrogate, most = known["surrogate_interval_calibration_error"], most_surrogate(above_lower)
        inequalities.append(Inequality("surrogate interval error", say.MOST_SURROGATE, surrogate, most, _CONSTANTS))
    if "random_interval_calibration_error" in known:
        width = float(measures()["random_interval_calibration_error"].parameters["width"])
        random, most = known["random_interval_calibration_error"], most_random_interval_error(above_lower, width)
        inequalities.append(Inequality(f"random interval error, {width:g}", say.MOST_RANDOM, random, most, _CONSTANTS))
    if "kernel_calibration_error" in known:
        kernel, least = known["kernel_calibration_error"], smooth / KERNEL
        inequalities.append(Inequality("smooth error / sqrt(2)", "Laplace kernel error", least, kernel, _CONSTANTS))
        inequalities.append(Inequality("squared Laplace kernel error", "lower distance", kernel**2, above_lower, _ROOT))
        inequalities.append(Inequality("Laplace kernel error", _LEVEL_SETS, kernel, level_sets, "triangle inequality"))
    if convolved is not None:
        inequalities += [
            Inequality(left, right, a, b, source, _QUADRATURE)
            for left, right, a, b, source in (
                ("lower distance / 2", "convolved error", below_lower / 2, convolved, say.LEMMA_25),
                ("|mean error|", "convolved error", bias, convolved, "Jensen"),
                ("convolved error", _LEVEL_SETS, convolved, level_sets, "Jensen"),
                ("convolved error", say.MOST_CONVOLVED, convolved, most_convolved_error(above_lower), _CONSTANTS),
            )
        ]
    two_bin, cutoff = known["averaged_two_bin_calibration_error"], known["cutoff_calibration_error"]
    squared = measures()["averaged_two_bin_calibration_error"].on_sample(sample, norm="l2") ** 2
    inequalities += [
        Inequality(left, right, a, b, source)
        for left, right, a, b, source in (
            ("|mean error|", "averaged two-bin error", bias, two_bin, "triangle inequality"),
            ("lower distance", "averaged two-bin error", below_lower, two_bin, say.TWO_BINS),
            ("averaged two-bin error / 3", "lower distance", two_bin / 3.0, above_lower, say.TWO_BINS),
            ("smooth error * 2/3", "averaged two-bin error", smooth / 1.5, two_bin, say.TWO_BINS),
            ("averaged two-bin error / 2", "smooth error", two_bin / 2.0, smooth, say.TWO_BINS),
            ("averaged two-bin error / 2", "cutoff error", two_bin / 2.0, cutoff, "both bins are intervals"),
            ("smooth error * 2/3", "cutoff error", smooth / 1.5, cutoff, say.TWO_BINS),
            ("cutoff error", _LEVEL_SETS, cutoff, level_sets, "triangle inequality"),
            ("squared averaged two-bin error", "lower distance", squared, above_lower, _ROOT),
        )
    ]
    inequalities += _decisions(corp.miscalibration, known, smooth, cutoff)
    return Ties(
        tuple(inequalities),
        Bracket(below_lower, max(below_lower, upper)),
        Bracket(below_lower, max(below_lower, above_lower)),
        (say.POTENTIALS, upper_source),
        ("its potentials", "its coupling"),
    )


def _decisions(spent: float, measured: Mapping[str, float], smooth: float, cutoff: float) -> list[Inequality]:
    """What decisions lose, between the smooth error and the cutoff error (docs/decisions.md)."""
    loss = measured["monotone_decision_loss"]
    return [
        Inequality("smooth error ^ 2", say.BRIER_PART, smooth * smooth, spent, say.SCORE_BETTER),
        Inequality(say.BRIER_PART, "decision loss", spent, loss, say.TWICE_REGRET),
        Inequality("decision loss", "2 * cutoff error", loss, 2.0 * cutoff, say.BETWEEN_CUTS),
    ]


def _upper_bounds(measured: Mapping[str, float], level_sets: float) -> dict[str, float]:
    """Everything that is known to lie above the upper, and so above the true, distance from calibration."""
    uppers = {}
    if "interval_calibration_error" in measured:
        uppers["interval error"] = measured["interval_calibration_error"]
    elif "surrogate_interval_calibration_error" in measured:
        uppers["surrogate interval error"] = measured["surrogate_interval_calibration_error"]
    if "random_interval_calibration_error" in measured:
        width = float(measures()["random_interval_calibration_error"].parameters["width"])
        random = measured["random_interval_calibration_error"]
        uppers[f"random interval error + {SHIFTED:.3f} widths, {width:g}"] = random + SHIFTED * width
    if {"binned_calibration_error_bound", "expected_calibration_error"} <= measured.keys():
        # The bound is the binned error and a width.
        uppers[say.BINNED] = 0.5 * (measured["binned_calibration_error_bound"] + measured["expected_calibration_error"])
    return {**uppers, _LEVEL_SETS: level_sets}


def _above_interval(measured: Mapping[str, float], level_sets: float) -> list[tuple[str, float, str]]:
    """Everything that is known to lie above the interval error, and why."""
    above = []
    if "surrogate_interval_calibration_error" in measured:
        above.append(("surrogate interval error", measured["surrogate_interval_calibration_error"], "Theorem 6.11"))
    if "random_interval_calibration_error" in measured:
        width = float(measures()["random_interval_calibration_error"].parameters["width"])
        random = measured["random_interval_calibration_error"] + width
        above.append((f"random interval error + width, {width:g}", random, "Claim 6.6"))
    if "binned_calibration_error_bound" in measured:
        bound = measured["binned_calibration_error_bound"]
        above.append(("binned error + bin width", bound, "Definition 6.1 and Equation 5"))
    return [*above, (_LEVEL_SETS, level_sets, say.NO_WIDTH)]


def above_interval_error(values: Mapping[str, float | None], moved: Mapping[str, float | None] | None = None) -> float:
    """The least of what is proved to lie above the interval error; `moved` is what pooling can cost each measure."""
    above = [1.0]
    for name in ("surrogate_interval_calibration_error", "binned_calibration_error_bound"):
        value, bound = values.get(name), 0.0 if moved is None else moved.get(name)
        if value is not None and bound is not None:
            above.append(value + bound + _ROUNDING)
    return min(above)


_WHY_ABOVE_DISTANCE = {
    "interval error": "Lemma 5.4 and Theorem 6.2",
    "surrogate interval error": "Lemma 5.4 and Theorem 6.11",
    f"random interval error + {SHIFTED:.3f} widths": _CONSTANTS,
    say.BINNED: _CONSTANTS,
    _LEVEL_SETS: "Lemma 4.7",
}
