"""No keyword without effect in Python: every option of these functions changes the result, or is refused by name.

The keywords are those that the signatures have, so that a new one fails here until it has a value in `VALUES`.
"""

import inspect
import re
import warnings
from functools import cache

import numpy as np
import pytest

import calibrant
from calibrant import InputError
from tests import option_data

pytestmark = pytest.mark.usefixtures("one_database")

_FRAME = option_data.frame()
ROWS = _FRAME.assign(y_true=(np.random.default_rng(1).random(len(_FRAME)) < _FRAME["y_prob"]) * 1)
"""Calibrated: a p-value lies between two levels."""
_TRIALS = option_data.frame("counts")
COUNTS = _TRIALS.assign(y_true=np.random.default_rng(4).binomial(_TRIALS["n"], _TRIALS["y_prob"]) / _TRIALS["n"])
CLASSES = option_data.classes()
QUICK = {"n_resamples": 59, "random_state": 0}
NAMES = {"y_true": "y_true", "y_prob": "y_prob"}
KEPT = ("random_state", "progress", "time_limit", "title")
"""Kept in the result for later draws (the seed), or about the call and not about the rows."""


def single(function, **options):
    """A function of columns, on rows with outcomes of 0 and 1."""
    return lambda **more: function(ROWS["y_true"], ROWS["y_prob"], **{**options, **more})


def of_trials(function, **options):
    """The same on shares of events among trials."""
    shares = {"trials": COUNTS["n"], **options}
    return lambda **more: function(COUNTS["y_true"], COUNTS["y_prob"], **{**shares, **more})


def curve_and_band(*columns, **options):
    """A decision curve, and its band, which goes by groups."""
    curve = calibrant.decision_curve(*columns, **options)
    return curve, curve.band(n_resamples=59, random_state=0)


def of_classes(function, **options):
    table = CLASSES[["p0", "p1", "p2"]].to_numpy()
    return lambda **more: function(CLASSES["y_true"].to_numpy(), table, **{**options, **more})


def two(**options):
    """Of two forecasts of the same rows."""
    return lambda **more: calibrant.compare_calibration(
        ROWS["y_true"], ROWS["y_prob"], ROWS["p_other"], **{**options, **more}
    )


def table(function, data=ROWS, **options):
    return lambda **more: function(data, **{**options, **more})


COLUMNS = {
    "sample_weight": ROWS["mass"].to_numpy(),
    "groups": ROWS["patient"].to_numpy(),
    "outcome_free_weights": True,
    "sampling_fractions": {0: 0.4, 1: 1.0},
    "trials": 1 + np.arange(len(ROWS)) % 5,
    "pos_label": 0,
    "level": 0.45,
    "n_resamples": 99,
    "max_weight": 90.0,
    "max_distance": 0.001,
    "threshold": 0.3,
    "thresholds": [0.2, 0.4],
    "from_logits": True,
    "methods": ["platt", "isotonic"],
    "cv": 3,
    "criterion": "log",
    "measure": "rms_binned_error",
    "y_true_b": ROWS["y_other"].to_numpy(),
    "items": "in order",
    "items_b": np.arange(len(ROWS)),
    "curve": "spline",
}


TABLE = {
    **COLUMNS,
    "y_true": "y_other",
    "y_prob": "p_other",
    "sample_weight": "mass",
    "groups": "patient",
    "trials": "patient",
    "by": ["kind"],
    "find": ["kind"],
    "features": ["kind"],
    "drift": "day",
    "reference": [0],
    "exclude_bad": True,
    "unweighted": True,
    "max_depth": 1,
    "n_bins": 3,
    "min_rows": 100,
    "distinct": True,
    "filesystem": "s3",
    "time": "days",
    "event": "died",
    "horizon": 1.5,
    "strata": "site",
    "least_followed": 0.99,
}
FOLLOWED = ("time", "event", "horizon", "strata", "least_followed")
"""Keywords of rows that are followed for a time; the first three need one another."""
BAD = option_data.frame("bad")
WEIGHT = option_data.frame("weight")
DATA = {"exclude_bad": BAD, "unweighted": WEIGHT, **dict.fromkeys(FOLLOWED, option_data.frame("times"))}

BESIDE = {"sample_weight": {"max_weight": 90.0}, "groups": {"max_weight": 90.0}, "trials": {"max_weight": 90.0}}
"""Of functions that bound the population: what these keywords need."""
BOUNDS = ("calibration_gate", "population_bounds")
SEGMENTS = {"features": ["site", "kind", "p_other"], "min_rows": 10, **NAMES, **QUICK}
CALLS = {
    ("audit", "single"): (single(calibrant.audit, **QUICK), COLUMNS),
    ("audit", "rates"): (lambda **more: calibrant.audit(COUNTS["y_true"], COUNTS["y_prob"], **more), COLUMNS),
    ("audit", "trials"): (of_trials(calibrant.audit, **QUICK), COLUMNS),
    ("audit", "weights"): (single(calibrant.audit, sample_weight=ROWS["mass"], **QUICK), COLUMNS),
    ("audit", "groups"): (single(calibrant.audit, groups=ROWS["patient"], **QUICK), COLUMNS),
    ("audit", "classes"): (of_classes(calibrant.audit, **QUICK), COLUMNS),
    ("calibration_test", "single"): (single(calibrant.calibration_test, **QUICK), COLUMNS),
    ("calibration_test", "trials"): (of_trials(calibrant.calibration_test, **QUICK), COLUMNS),
    ("compare_calibration", "paired"): (two(**QUICK), COLUMNS),
    ("compare_calibration", "other rows"): (two(y_true_b=ROWS["y_other"], **QUICK), COLUMNS),
    ("choose_recalibrator", "single"): (single(calibrant.choose_recalibrator), COLUMNS),
    ("clinical_calibration", "single"): (single(calibrant.clinical_calibration, **QUICK), COLUMNS),
    ("clinical_calibration", "trials"): (of_trials(calibrant.clinical_calibration, **QUICK), COLUMNS),
    ("decision_curve", "single"): (single(curve_and_band), COLUMNS),
    ("calibration_gate", "single"): (single(calibrant.calibration_gate, max_distance=0.2), COLUMNS),
    ("population_bounds", "single"): (single(calibrant.population_bounds), COLUMNS),
    ("audit_table", "frame"): (calibrant.audit_table, TABLE),
    ("find_segments", "frame"): (calibrant.find_segments, TABLE),
}
MADE_BY = {
    ("audit", "weights"): "sample_weight",
    ("audit", "groups"): "groups",
    ("compare_calibration", "other rows"): "y_true_b",
}
"""The keyword that makes a mode."""


def cases():
    for (name, mode), (_, values) in CALLS.items():
        for keyword, parameter in inspect.signature(getattr(calibrant, name)).parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY and keyword not in (*KEPT, MADE_BY.get((name, mode))):
                yield pytest.param(name, mode, keyword, values, id=f"{name}-{mode}-{keyword}")


def _of(result):
    """A result in plain words, without what only repeats the options."""
    if isinstance(result, tuple):
        return repr([_of(each) for each in result])
    found = result.to_dict() if hasattr(result, "to_dict") else result
    return repr(_cut(found))


def _cut(value):
    if isinstance(value, dict):
        echoes = ("options", "premises", "level", "max_distance", "n_resamples")
        return {key: _cut(each) for key, each in value.items() if key not in echoes}
    return [_cut(each) for each in value] if isinstance(value, list | tuple) else value


@cache
def _answer(name, mode, keyword, *, given):
    call, values = CALLS[name, mode]
    more = {keyword: values[keyword]} if given else {}
    more |= BESIDE.get(keyword, {}) if name in BOUNDS else {}
    if name in ("audit_table", "find_segments"):
        data = DATA.get(keyword, ROWS)
        own = SEGMENTS if name == "find_segments" else {**NAMES, **QUICK}
        if keyword in FOLLOWED:
            own = {each: value for each, value in own.items() if each != "y_true"}
            more |= {each: values[each] for each in FOLLOWED[:3] if each != keyword}
        return _outcome(lambda: call(data, **{**own, **more}))
    return _outcome(lambda: call(**more))


def _outcome(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return None, _of(call())
        except InputError as problem:
            return str(problem), None


def test_an_empty_name_is_no_folder():
    for empty in ("", " "):
        with pytest.raises(InputError, match="table: is an empty name"):
            calibrant.audit_table(empty)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mode", "keyword", "values"), list(cases()))
def test_it_matters_or_is_refused(name, mode, keyword, values):
    assert keyword in values, f"{keyword} of {name} has no value to be tried with"
    rows = keyword if keyword in (*DATA, *BESIDE) else None  # what is tried on the same rows shares a call without it
    base, done = _answer(name, mode, rows, given=False), _answer(name, mode, keyword, given=True)
    refused = done[0] is not None and re.search(rf"\b{keyword}\b", done[0])
    if name == "audit" and keyword in ("level", "n_resamples", "max_distance") and mode != "single":
        assert getattr(CALLS[name, mode][0](**{keyword: values[keyword]}), keyword) == values[keyword]
        return  # one call takes rows of every kind with the same of them; the result has and names them
    assert refused or (done[0] is None and done[1] != base[1]), done[0] or "no effect"
