"""Every number of a fitted map has a bound that no fit leaves; up to it predictions are probabilities anywhere."""

import copy
import itertools
import json
import math

import numpy as np
import pytest

from calibrant import InputError
from calibrant.recalibration import (
    AveragedClassScaling,
    AveragedScaling,
    BetaScaling,
    DirichletScaling,
    PlattScaling,
    PolynomialScaling,
    SegmentRecalibrator,
    TemperatureScaling,
    VectorScaling,
    from_json,
)
from calibrant.recalibration import averaged as averaged_classes
from calibrant.recalibration.by_segment.corrections import LARGEST_CHANGE, LARGEST_SHIFT, MOST_PARTS
from calibrant.recalibration.curves import scaling
from calibrant.recalibration.curves.averaged import _FARTHEST
from calibrant.recalibration.kinds import column, number, square
from calibrant.recalibration.multiclass import largest_entry, least_ridge
from calibrant.recalibration.serialization import _KNOWN
from tests.recalibration.test_storage import NAMES, TABLE, P, Y, sealed

ENDS = np.array([0.0, 5e-324, 1e-300, 1e-12, 0.25, 0.5, 0.75, 1.0 - 2.0**-53, 1.0])
CORNERS = np.vstack([np.eye(3), np.full((1, 3), 1.0 / 3.0), [[1.0, 5e-324, 0.0], [0.5, 0.5, 0.0]]])
LINE = {"slope_": scaling._STEEPEST, "intercept_": scaling._HIGHEST}
BETA = {"a_": scaling._STEEPEST, "b_": scaling._STEEPEST, "c_": scaling._HIGHEST}
HOT = {"temperature_": 1e3 * (1.0 + 1e-9)}


def vector(penalty, clip=1e-12):
    largest = largest_entry([least_ridge(penalty)])
    return VectorScaling(penalty, clip), {"scale_": largest, "shift_": largest}


def dirichlet(penalty, off, intercept):
    own = least_ridge(penalty)
    more = [] if off is None else [2.0 * off / 6.0]
    more += [] if intercept is None else [2.0 * intercept / 3.0]
    largest = largest_entry([own, *more], 0.0 if intercept is None else more[-1] / own)
    return DirichletScaling(penalty, off, intercept, 1e-300), {"matrix_": largest, "shift_": largest}


OF_CLASSES = dict.fromkeys(("factor_", "bend_", "scale_", "shift_"), averaged_classes._FARTHEST)
MAPS = [
    (AveragedClassScaling(), OF_CLASSES),
    *((PlattScaling(clip), LINE) for clip in (1e-300, 1e-12, 0.49)),
    *((BetaScaling(clip), BETA) for clip in (1e-300, 1e-12, 0.49)),
    *((TemperatureScaling(clip), HOT) for clip in (1e-300, 0.49)),
    *((PolynomialScaling(degree), {"coefficients_": scaling._LARGEST_COEFFICIENT}) for degree in (1, 3, 12, 39)),
    *(vector(penalty, clip) for penalty, clip in ((1.0, 1e-300), (5e-324, 1e-300), (1e100, 0.49))),
    *(dirichlet(*each) for each in ((1.0, None, None), (5e-324, 1e-300, 1e300), (1e100, 1e-320, None))),
]
SMALL_DOMAINS = [[0.5, 0.5], [0.5, float(np.nextafter(0.5, 1.0))], [0.0, 5e-324], [0.0, 1e-299], [0.0, 1.0]]


def written(recalibrator):
    several = isinstance(recalibrator, VectorScaling | DirichletScaling | AveragedClassScaling)
    fitted = recalibrator.fit(TABLE, NAMES) if several else recalibrator.fit(P, Y)
    return json.loads(fitted.to_json()), CORNERS if several else ENDS


def filled(value, to):
    """A number, or every number of a list or of lists, as this or, every second, minus this."""
    if isinstance(value, list):
        return [filled(part, (-1.0) ** place * to) for place, part in enumerate(value)]
    return to


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("recalibrator", "bounds"), MAPS, ids=[str(each[0]).replace("\n", "") for each in MAPS])
def test_up_to_their_bounds_maps_are_probabilities_and_no_further_are_they_read(recalibrator, bounds):
    content, at = written(recalibrator)
    lowest = {name: 0.0 if name in ("a_", "b_") else -1.0 for name in bounds} | {"temperature_": 1e-6}
    for signs in itertools.product(*([1.0, lowest[name]] for name in bounds)):
        for domain in SMALL_DOMAINS if "domain_" in content["fitted"] else [None]:
            whole = copy.deepcopy(content)
            for (name, bound), sign in zip(bounds.items(), signs, strict=True):
                whole["fitted"][name] = filled(whole["fitted"][name], sign * bound)
            if domain is not None:
                whole["fitted"]["domain_"] = domain
            found = from_json(sealed(whole)).predict(at)
            assert ((found >= 0.0) & (found <= 1.0)).all()
            assert isinstance(from_json(sealed(whole)).summary(), str)
    for name, bound in bounds.items():
        for beyond in (math.nextafter(bound, math.inf), -math.nextafter(bound, math.inf)):
            whole = copy.deepcopy(content)
            whole["fitted"][name] = filled(whole["fitted"][name], beyond)
            with pytest.raises(InputError, match=f"holds what no fitted recalibrator does: {name} must "):
                from_json(sealed(whole))


def test_no_number_of_a_map_is_without_a_bound():
    """Numbers that lie in [0, 1], or are counted, have theirs by their kind."""
    tried = {}
    for recalibrator, bounds in MAPS:
        tried.setdefault(type(recalibrator).__name__, set()).update(bounds)
    free = {
        (name, field)
        for name, kind in _KNOWN.items()
        for field, of in kind._fitted.items()
        if of in (number, column, square) and field not in tried.get(name, ())
    }
    free.remove(("NearestCalibrated", "interval_error_"))  # held to [0, 1] as it is read
    averaged = {("AveragedScaling", field) for field in ("clip_", "log_odds_", "corrected_", "spread_")}
    free.remove(("AveragedClassScaling", "clip_"))  # held to (0, 0.001]
    assert free == {("SegmentRecalibrator", "shift_"), *averaged}  # below


def test_an_average_of_maps_has_bounds_as_well():
    content = json.loads(AveragedScaling().fit(P, Y).to_json())
    for sign in (1.0, -1.0):
        whole = copy.deepcopy(content)
        whole["parameters"]["monotone"] = False
        whole["fitted"] |= {"log_odds_": [-_FARTHEST, 0.0, _FARTHEST]}
        whole["fitted"] |= {"corrected_": [sign * _FARTHEST, 0.0, -sign * _FARTHEST], "spread_": [_FARTHEST] * 3}
        again = from_json(sealed(whole))
        for found in (again.predict(ENDS), again.interval(ENDS)):
            assert ((found >= 0.0) & (found <= 1.0)).all()
        beyond = math.nextafter(_FARTHEST, math.inf)
        for name, values in (
            ("log_odds_", [-beyond, 0.0, 1.0]),
            ("corrected_", [0.0, sign * beyond, 0.0]),
            ("spread_", [0.0, beyond, 0.0]),
            ("clip_", [0.0, 1.0]),
        ):
            changed = copy.deepcopy(whole)
            changed["fitted"][name] = values
            with pytest.raises(InputError, match=f"{name} must"):
                from_json(sealed(changed))


def test_a_repair_by_segment_has_bounds_as_well():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.random(400), rng.integers(0, 2, 400)])
    y = rng.random(400) < np.where(table[:, 1] > 0, 0.2, 0.8)
    fitted = SegmentRecalibrator(0, method="segments", max_depth=1, cv=2).fit(table, y)
    content = json.loads(fitted.to_json())
    assert content["fitted"]["_blocks"]
    at = np.column_stack([np.repeat(ENDS, 2), np.tile([0.0, 1.0], ENDS.size)])
    for sign in (1.0, -1.0):
        for beyond in (None, "shift", "change"):
            whole = copy.deepcopy(content)
            largest = [math.nextafter(each, math.inf) if beyond == name else each
                       for name, each in (("shift", LARGEST_SHIFT), ("change", LARGEST_CHANGE))]  # fmt: skip
            whole["fitted"]["shift_"] = sign * largest[0]
            for block in whole["fitted"]["_blocks"]:
                block[1] = [sign * largest[1] for _ in block[1]]
            if beyond is None:
                found = from_json(sealed(whole)).predict_proba(at)
                assert ((found >= 0.0) & (found <= 1.0)).all()
                continue
            with pytest.raises(InputError, match="must lie between"):
                from_json(sealed(whole))
    twice = copy.deepcopy(content)
    twice["fitted"]["_blocks"] *= 2
    with pytest.raises(InputError, match=f"_blocks must be at most {MOST_PARTS}, each once"):
        from_json(sealed(twice))


@pytest.mark.parametrize("seed", range(30))
def test_fits_of_rows_that_hardly_differ_stay_within(seed):
    """Predictions one ulp apart, weights over 300 orders, next to no outcomes: what is fitted can be saved and read."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    middle = rng.choice([0.0, 1e-300, 0.3, 0.5, 1.0])
    v = np.clip(middle + rng.integers(-3, 4, n) * max(5e-324, middle * 2.0**-53), 0.0, 1.0)
    weight = 10.0 ** rng.uniform(-rng.choice([1, 30, 130]), 0, n)
    weight[0] = 1.0
    for recalibrator in (PlattScaling(1e-300), BetaScaling(1e-300), PolynomialScaling(4), TemperatureScaling()):
        fitted = recalibrator.fit(v, rng.integers(0, 2, n), weight)
        again = from_json(fitted.to_json())
        assert again.predict(ENDS).tobytes() == fitted.predict(ENDS).tobytes()
