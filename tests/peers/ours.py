"""What of ours a peer's number is held against: one line each, in the peer's units."""

import math

import numpy as np

import calibrant
from calibrant import measures, recalibration
from calibrant.door import multiclass_sample
from calibrant.inference.testing import distance

DRAWS = {"n_resamples": 19, "random_state": 0}  # statistics and textbook p-values need none


def binned(**columns):
    return calibrant.expected_calibration_error(**columns)


def top_label(y_true, y_prob, **options):
    top = multiclass_sample(y_true, y_prob).top_label()
    return binned(y_true=top.y_true, y_prob=top.y_prob, **options)


def kernel_top_label(y_true, y_prob, **options):
    top = multiclass_sample(y_true, y_prob).top_label()
    return measures.kernel_calibration_error(top.y_true, top.y_prob, **options)


def class_wise(y_true, y_prob, norm, **options):
    """Power mean over the classes of each class's own error."""
    power = {"l1": 1, "l2": 2}[norm]
    parts = multiclass_sample(y_true, y_prob).class_wise()
    errors = [binned(y_true=part.y_true, y_prob=part.y_prob, norm=norm, **options) for part in parts]
    return np.mean(np.power(errors, power)) ** (1 / power)


def bins(field, **columns):
    return getattr(calibrant.calibration_bins(**columns), field)


def bin_numbers(y_prob, n_bins):
    """Number, from 1, of the bin that each prediction alone falls in."""
    upper = [bins("upper_edge", y_true=[1], y_prob=[v], n_bins=n_bins)[0] for v in y_prob]
    return np.round(np.multiply(upper, n_bins))


def one_bin(field, **columns):
    return bins(field, n_bins=1, **columns)[0]


def corp(field, **columns):
    return getattr(calibrant.corp_decomposition(**columns), field)


def at_rows(fitted, y_prob):
    """Values of the distinct predictions, at every row in the order in which they were given."""
    return fitted[np.searchsorted(np.unique(y_prob), y_prob)]


def tested(by, field, **columns):
    return getattr(by(**columns, **DRAWS), field)


def panel(field, **columns):
    return getattr(calibrant.clinical_calibration(**columns, **DRAWS), field)


def curve_of(y_true, y_prob):
    found = calibrant.clinical_calibration(y_true, y_prob, **DRAWS)
    return found.prediction, found.observed


def recalibrated(method, y_true, y_prob, at=None, sample_weight=None):
    return method.fit(y_prob, y_true, sample_weight=sample_weight).predict(y_prob if at is None else at)


def signed_square(columns):
    root = measures.kernel_calibration_error(**columns, unbiased=True)
    return math.copysign(root * root, root)


def deviation(y_prob):
    return math.sqrt(np.sum(np.multiply(y_prob, 1 - np.asarray(y_prob)))) / len(y_prob)


def at_a_horizon(time, event, horizon, **_other):
    known = calibrant.censored_outcomes(time, event, horizon, least_followed=0.01)
    return known.y_true, known.sample_weight, known.max_weight


def brier_at_a_horizon(y_prob, y_true, weight, _most):
    return float((weight * (y_true - np.asarray(y_prob)) ** 2).sum() / len(y_true))


def auc_at_a_horizon(y_prob, y_true, weight, _most):
    return calibrant.audit(y_true, y_prob, sample_weight=weight, n_resamples=0).auc


OURS = {
    "binned error": binned,
    "binned error, top label": top_label,
    "binned error, mean over classes": class_wise,
    "root of squared error": lambda **c: math.sqrt(max(0.0, measures.squared_calibration_error(**c))),
    "bins: mean outcome": lambda **c: bins("outcome", **c),
    "bins: mean prediction": lambda **c: bins("prediction", **c),
    "bins: rows": lambda **c: bins("count", **c),
    "bins: mean error": lambda **c: bins("prediction", **c) - bins("outcome", **c),
    "bin numbers": bin_numbers,
    "mean prediction less base rate": lambda **c: one_bin("prediction", **c) - one_bin("outcome", **c),
    "mean prediction over base rate": lambda **c: one_bin("prediction", **c) / one_bin("outcome", **c),
    "kernel error squared, both classes": lambda **c: 2.0 * measures.kernel_calibration_error(**c) ** 2,
    "kernel error squared, both classes, unbiased": lambda **c: 2.0 * signed_square(c),
    "kernel error, top label": kernel_top_label,
    "kernel error": lambda **c: measures.kernel_calibration_error(**c),
    "canonical kernel error squared": lambda **c: measures.squared_canonical_kernel_error(**c, random_state=0),
    "convolved error": lambda **c: calibrant.convolved_calibration_error(**c),
    "mean score": lambda **c: corp("mean_score", **c),
    "miscalibration": lambda **c: corp("miscalibration", **c),
    "discrimination": lambda **c: corp("discrimination", **c),
    "uncertainty": lambda **c: corp("uncertainty", **c),
    "share of the score explained": lambda **c: 1.0 - corp("mean_score", **c) / corp("uncertainty", **c),
    "score over base rate's": lambda **c: corp("mean_score", **c) / corp("uncertainty", **c),
    "isotonic rates": lambda **c: corp("recalibrated", **c),
    "isotonic rates at rows": lambda **c: at_rows(corp("recalibrated", **c), c["y_prob"]),
    "Kuiper": lambda **c: tested(calibrant.cumulative_calibration_test, "statistic", **c),
    "Kuiper, largest mean error": lambda **c: (
        tested(calibrant.cumulative_calibration_test, "statistic", **c) * deviation(c["y_prob"])
    ),
    "Kuiper p": lambda **c: tested(calibrant.cumulative_calibration_test, "asymptotic_pvalue", **c),
    "Kolmogorov-Smirnov": lambda **c: tested(
        calibrant.cumulative_calibration_test, "statistic", form="kolmogorov-smirnov", **c
    ),
    "Kolmogorov-Smirnov p": lambda **c: tested(
        calibrant.cumulative_calibration_test, "asymptotic_pvalue", form="kolmogorov-smirnov", **c
    ),
    "Kuiper distribution": lambda x: 1.0 - distance._range_tail(x),
    "Kolmogorov-Smirnov distribution": lambda x: 1.0 - distance._maximum_tail(x),
    "Spiegelhalter": lambda **c: tested(calibrant.spiegelhalter_test, "statistic", **c),
    "Spiegelhalter p": lambda **c: tested(calibrant.spiegelhalter_test, "asymptotic_pvalue", **c),
    "Hosmer-Lemeshow, textbook": lambda **c: tested(calibrant.hosmer_lemeshow_test, "textbook_statistic", **c),
    "Hosmer-Lemeshow p, textbook": lambda **c: tested(calibrant.hosmer_lemeshow_test, "textbook_pvalue", **c),
    "Cox intercept": lambda **c: tested(calibrant.cox_test, "intercept", **c),
    "Cox slope": lambda **c: tested(calibrant.cox_test, "slope", **c),
    "in the large": lambda **c: panel("in_the_large", **c).value,
    "interval of intercept": lambda **c: list(panel("calibration_intercept", **c).interval),
    "interval of slope": lambda **c: list(panel("calibration_slope", **c).interval),
    "ICI": lambda **c: panel("ici", **c).value,
    "E90": lambda **c: panel("e90", **c).value,
    "Emax": lambda **c: panel("emax", **c).value,
    "C-statistic": lambda **c: panel("c_statistic", **c).value,
    "lowess at rows": lambda y_true, y_prob: np.interp(np.sort(y_prob), *curve_of(y_true, y_prob)),
    "share followed": lambda **c: 1.0 / at_a_horizon(**c)[2],
    "Brier score at a horizon": lambda y_prob, **c: brier_at_a_horizon(y_prob, *at_a_horizon(**c)),
    "AUC at a horizon": lambda y_prob, **c: auc_at_a_horizon(y_prob, *at_a_horizon(**c)),
    "net benefit": lambda **c: calibrant.decision_curve(**c).net_benefit,
    "net benefit of acting on all": lambda **c: calibrant.decision_curve(**c).treat_all,
    "Platt scaling": lambda **c: recalibrated(recalibration.PlattScaling(), **c),
    "beta scaling": lambda **c: recalibrated(recalibration.BetaScaling(), **c),
    "temperature scaling": lambda **c: recalibrated(recalibration.TemperatureScaling(), **c),
    "isotonic scaling": lambda **c: recalibrated(recalibration.IsotonicScaling(), **c),
}
