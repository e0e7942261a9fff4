"""Each side of an inequality is the number that its words say."""

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import audit
from calibrant.door.ends import Bracket
from calibrant.door.sample import Sample
from calibrant.findings.inequalities import Inequality, Ties, above_interval_error, tie
from calibrant.measures.registry import measures

SIDE = re.compile(r"^(?P<squared>squared )?(?P<name>.+?)(?: (?P<sign>[/*]) (?P<number>[0-9/]+))?$")


@pytest.mark.parametrize("bend", [0.4, 2.5])
def test_each_side_is_the_number_that_its_words_say(bend):
    rng = np.random.default_rng(0)
    v = rng.random(300)
    found = audit((rng.random(300) < v**bend).astype(int), v, n_resamples=0, random_state=0).to_dict()["inequalities"]
    sides = [
        pair for each in found for pair in ((each["left"], each["left_value"]), (each["right"], each["right_value"]))
    ]
    plain = dict(sides)
    looked_at = set()
    for words, value in sides:
        part = SIDE.match(words)
        if part["name"] == words or part["name"] not in plain or part["squared"]:
            continue
        over, _, under = (part["number"] or "1").partition("/")
        by = float(over) / float(under or 1)
        looked_at.add(words)
        expected = plain[part["name"]] / by if part["sign"] == "/" else plain[part["name"]] * by
        assert value == pytest.approx(expected, abs=3e-5)
    assert looked_at >= {"averaged two-bin error / 2", "averaged two-bin error / 3", "smooth error * 2/3"}


@pytest.mark.parametrize("bend", [0.4, 2.5])
def test_single_distinct_predictions_have_one_error(bend):
    rng = np.random.default_rng(0)
    v = np.round(rng.random(300), 2)
    y = (rng.random(300) < v**bend).astype(int)
    found = audit(y, v, n_resamples=0, random_state=0).to_dict()["inequalities"]
    told = {each["right_value"] for each in found if each["right"] == "error of single distinct predictions"}
    assert sum(each["right"] == "error of single distinct predictions" for each in found) >= 4
    assert list(told) == [pytest.approx(sum(abs((y - v)[v == u].sum()) for u in np.unique(v)) / 300)]


ROWS = [0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]
D = 0.02  # lower distance
WIDTH = float(measures()["random_interval_calibration_error"].parameters["width"])
KNOWN = {
    "smooth_calibration_error": 0.07,
    "averaged_two_bin_calibration_error": 0.1,
    "cutoff_calibration_error": 0.09,
    "monotone_decision_loss": 0.02,
    "interval_calibration_error": 0.2,
    "surrogate_interval_calibration_error": 0.21,
    "random_interval_calibration_error": 0.22,
    "kernel_calibration_error": 0.06,
    "convolved_calibration_error": 0.065,
    "binned_calibration_error_bound": 0.3,
    "expected_calibration_error": 0.1,
}
OF = {  # what names each measure in words, of an inequality and of what is above the distance
    "interval_calibration_error": r"^interval error",
    "surrogate_interval_calibration_error": r"surrogate interval error",
    "random_interval_calibration_error": r"random interval error",
    "kernel_calibration_error": r"Laplace kernel error",
    "convolved_calibration_error": r"convolved error",
    "binned_calibration_error_bound": r"binned error",
    "expected_calibration_error": r"binned error \+ half",
}


def tied(known):
    """The inequalities of four rows, by the words of both sides; other numbers are as given."""
    sample = Sample.from_columns(*ROWS)
    witness, certificate = SimpleNamespace(value=0.07, upper=0.07), SimpleNamespace(lower=D, upper=D)
    ties = tie(sample, witness, certificate, 0.5, SimpleNamespace(miscalibration=0.01), known)
    return ties, {(each.left, each.right): (each.left_value, each.right_value) for each in ties.inequalities}


@pytest.mark.parametrize("unknown", OF)
def test_an_inequality_is_told_where_both_sides_are_known(unknown):
    ties, all_known = tied(KNOWN)
    assert ties.lower_distance_bracket == Bracket(D, D)
    _, told = tied({**KNOWN, unknown: None})
    without = {
        pair: sides for pair, sides in all_known.items() if not any(re.search(OF[unknown], words) for words in pair)
    }
    assert len(without) < len(all_known)
    more = {("lower distance", "surrogate interval error")} if unknown == "interval_calibration_error" else set()
    assert told.keys() - without.keys() == more  # the interval error is below its surrogate, and stands for it
    assert {pair: told[pair] for pair in without} == without


def test_what_is_above_the_distance_is_what_its_words_say():
    _, told = tied(KNOWN)
    d, w, shifted = D, WIDTH, 1 / 8 + 1 / math.sqrt(48)
    expected = {
        ("interval error", "d + sqrt(8 d (1 - d)), d = lower distance"): d + math.sqrt(8 * d * (1 - d)),
        ("surrogate interval error", "least d + 2 d (1 - d) 2^k + 2^-k, d = lower distance"): min(
            d + 2 * d * (1 - d) * 2**k + 2.0**-k for k in range(20)
        ),
        (f"random interval error, {w:g}", "d + 2 d (1 - d) / width, d = lower distance"): d + 2 * d * (1 - d) / w,
        ("convolved error", "(d + sqrt(d^2 + 4 sqrt(2 / pi) d)) / 2, d = lower distance"): (
            (d + math.sqrt(d * d + 4 * math.sqrt(2 / math.pi) * d)) / 2
        ),
        ("interval error", f"random interval error + width, {w:g}"): 0.22 + w,
        ("interval error", "surrogate interval error"): 0.21,
        ("interval error", "binned error + bin width"): 0.3,
        ("lower distance", "binned error + half a bin width"): 0.2,
        ("lower distance", f"random interval error + {shifted:.3f} widths, {w:g}"): 0.22 + shifted * w,
        ("lower distance", "interval error"): 0.2,
        ("squared Laplace kernel error", "lower distance"): d,
        ("decision loss", "2 * cutoff error"): 0.18,
    }
    for pair, value in expected.items():
        assert told[pair][1] == pytest.approx(value, abs=1e-12), pair
    sample = Sample.from_columns(*ROWS)
    two_bins = measures()["averaged_two_bin_calibration_error"].on_sample(sample, norm="l2")
    left = {
        "smooth error ^ 2": 0.07**2,
        "squared Laplace kernel error": 0.06**2,
        "smooth error / sqrt(2)": 0.07 / math.sqrt(2),
        "lower distance / 2": D / 2,
        "averaged two-bin error / 3": 0.1 / 3,
        "smooth error * 2/3": 0.07 * 2 / 3,
        "squared averaged two-bin error": two_bins * two_bins,
    }
    assert {words: value for (words, _), (value, _) in told.items() if words in left} == pytest.approx(left)


@pytest.mark.parametrize(
    ("values", "moved", "least"),
    [
        ({}, None, 1.0),
        ({"surrogate_interval_calibration_error": 0.3}, None, 0.3),
        ({"binned_calibration_error_bound": 0.2, "surrogate_interval_calibration_error": 0.3}, None, 0.2),
        ({"binned_calibration_error_bound": 0.2}, {"binned_calibration_error_bound": 0.15}, 0.35),
        ({"binned_calibration_error_bound": 0.2}, {"binned_calibration_error_bound": None}, 1.0),
        ({"binned_calibration_error_bound": 0.2}, {}, 1.0),
        ({"binned_calibration_error_bound": None}, None, 1.0),
        (
            {"binned_calibration_error_bound": 0.2, "surrogate_interval_calibration_error": 0.3},
            {"binned_calibration_error_bound": 0.2, "surrogate_interval_calibration_error": 0.05},
            0.35,
        ),
    ],
)
def test_the_least_that_is_proved_above_the_interval_error_is_taken(values, moved, least):
    assert above_interval_error(values, moved) == pytest.approx(least, abs=2e-9)


@pytest.mark.parametrize(("far", "tolerance", "holds"), [(0.5, 1e-9, True), (0.8, 1e-4, True), (1.2, 1e-4, False)])
def test_an_inequality_holds_up_to_its_tolerance(far, tolerance, holds):
    one = Inequality("left", "right", 0.3 + far * tolerance, 0.3, "a proof", tolerance)
    assert one.holds is holds
    assert ("is an error in this library" in one.summary()) is not holds
    ties = Ties((one, one), *[Bracket(0.1, 0.2)] * 2, *[("a", "b")] * 2)
    assert ("2 inequalities hold" in ties.summary()) is holds
    assert ("2 inequalities fail" in ties.summary()) is not holds
