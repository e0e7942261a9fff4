"""What the page says in words is true as a reader takes it: ranges hold the rows told, shares of all are 100%."""

import re
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import Interval, audit, calibration_by_segment
from calibrant.door.ends import Bracket, confidence
from calibrant.findings.regions import Places, Region
from calibrant.findings.word_catalogue import (
    _which_way,
    ends,
    enough,
    found_in_words,
    one_outcome,
    percent,
    periods_in_words,
    proved,
    rate,
    segment_in_words,
    segments_in_words,
)
from calibrant.inference.testing.calibration import TestRegion
from calibrant.measures.registry import measures
from calibrant.report.text import Page, _parts
from calibrant.report.text import _segment as segment_line
from calibrant.segments.results import FoundSegment, FoundSegments
from calibrant.sketch.sketch import CalibrationSketch
from tests.strategies import examples, samples


def printed_range(words):
    """The two ends as a reader would type them."""
    found = re.match(r"predictions (?:between (\S+) and (\S+)|of (\S+)) are", words)
    low, high, single = found.groups()
    return (float(single), float(single)) if single else (float(low), float(high))


def near_one(n, seed):
    """Predictions of which most print as 1.000, and some are too sure."""
    rng = np.random.default_rng(seed)
    v = 1.0 / (1.0 + np.exp(-rng.normal(6.0, 5.0, n)))
    v = np.where(rng.random(n) < 0.2, np.round(v, 2), v)
    return (rng.random(n) < np.where(v > 0.9, v - 0.1 * rng.random(n), v)) * 1.0, v


def test_ends_have_two_digits_where_they_suffice_and_are_exact_where_eight_do_not():
    assert ends(0.3, 0.7) == ("0.30", "0.70")
    assert ends(0.304, 0.696, 0.29, 0.71) == ("0.30", "0.70")
    assert ends(0.304, 0.696, 0.301, 0.699) == ("0.304", "0.696")
    assert ends(0.1, 0.9999, None, 0.99996) == ("0.10", "0.9999")
    assert ends(0.1, 1.0 - 2e-12, None, 1.0 - 1e-12) == ("0.10", repr(1.0 - 2e-12))


def test_the_range_of_a_segment_leaves_out_the_end_that_belongs_to_its_neighbour():
    v = np.repeat([0.25, 0.375, 0.5, 0.75], 500)
    y = np.where(v == 0.375, 1.0, np.tile([0.0, 0.0, 0.0, 1.0], 500))
    y = np.where(v == 0.5, np.tile([0.0, 1.0], 1000), np.where(v == 0.75, 1.0 - np.tile([0.0, 0.0, 0.0, 1.0], 500), y))
    frame = {"y": y, "p": v, "g": np.zeros(v.size)}
    pyarrow = pytest.importorskip("pyarrow")
    (segment,) = calibration_by_segment(pyarrow.table(frame), y_true="y", y_prob="p", by=["g"])
    assert segment.where == (0.375, 0.5)
    assert segment_in_words(segment) == "predictions too low in [0.375, 0.5)"


@given(st.floats(-14.0, -0.3) | st.integers(-14, -1).map(float), st.booleans())
@examples(500)
def test_a_rate_is_told_in_digits_that_tell_it_from_0_and_from_1(power, often):
    """Of rare events in two digits, of frequent ones as far from 100 as its first digit; between, in whole percent."""
    least = 10.0**power
    told = rate(1.0 - least if often else least)
    assert told.endswith("%")
    digits = told.removesuffix("%")
    if least <= (1e-9 if often else 1e-12):
        assert digits == ("100" if often else "0")
        return
    value, decimals = Fraction(digits), len(digits.partition(".")[2])
    assert abs(value - 100 * (1 - Fraction(least) if often else Fraction(least))) <= Fraction(51, 100) / 10**decimals
    assert 0 < value < 100
    if least < 0.0095:
        assert often or decimals == 10 or len(digits.replace(".", "").lstrip("0")) == 2
        assert not often or 10.0**-decimals <= 100.0 * least * (1 + 1e-6) < 10.0 ** (1 - decimals) * (1 + 1e-6)


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (0.00994, "0.99%"),
        (0.00996, "1.0%"),
        (0.0994, "9.9%"),
        (0.0996, "10%"),
        (0.9904, "99%"),
        (0.9906, "99.1%"),
        (0.9999, "99.99%"),
        (1e-4, "0.010%"),
        (1.0 - 1e-6, "99.9999%"),
    ],
)
def test_a_rate_has_two_digits_on_either_side_of_where_decimals_begin(share, told):
    assert rate(share) == told


@pytest.mark.parametrize(("off", "said"), [(0, "none is"), (1, "1 is"), (2, "2 are")])
def test_segments_are_told_by_how_many_are_off(off, said):
    pyarrow = pytest.importorskip("pyarrow")
    frame = {"p": [0.5] * 900, "y": [0, 1] * 450, "g": np.repeat(["a", "b", "c"], 300)}
    frame["y"][: 300 * off] = [0] * 300 * off
    found = segments_in_words(calibration_by_segment(pyarrow.table(frame), y_true="y", y_prob="p", by=["g"]), ["g"])
    assert found.startswith(f"Of 3 segments by g, {said} off by more than noise")
    assert found.count("too high") == off


@pytest.mark.parametrize("off", [1, 2, 3, 4, 6])
def test_three_segments_are_told_by_name_and_the_others_are_counted(off):
    keys = np.repeat([f"g{i}" for i in range(off)], 300)
    table = pytest.importorskip("pyarrow").table({"p": [0.5] * keys.size, "y": [0] * keys.size, "g": keys})
    said = segments_in_words(calibration_by_segment(table, y_true="y", y_prob="p", by=["g"]), ["g"])
    assert said.count("(300 rows)") == min(off, 3)
    assert ("; those with the largest smooth error: " in said) == (off > 3)
    assert (f"; and {off - 3} more" in said) == (off > 3)


def test_one_outcome_alone_is_told():
    assert [one_outcome(1, events=each) for each in (True, False)] == [
        f"There is one row, and its outcome is {each}." for each in (1, 0)
    ]
    assert one_outcome(2, events=False) == "All 2 outcomes are 0: no event."


def test_all_rows_are_100_percent():
    assert percent(np.nextafter(1.0, 0.0)) == "100%"
    assert percent(1.0 - 1e-9) == "over 99.9%"
    assert percent(1e-300) == "under 0.1%"


def test_the_two_expected_errors_cannot_be_confused():
    y, v = near_one(300, 0)
    found = audit(y, v, n_resamples=0, random_state=0)
    said = " ".join(each.words for each in found.ties.inequalities)
    assert "smooth error <= error of single distinct predictions" in said
    assert "expected" not in said  # the name of the measure over bins, another number on the same page


def test_a_confidence_that_is_not_100_percent_is_not_printed_so():
    assert confidence(1e-30) == "1 - 1e-30"
    assert confidence(1e-6) == "99.9999%"


def test_a_single_prediction_is_told_in_few_digits_or_between_few():
    close = 0.999999999993614
    assert ends(close, close, 0.9999985, None) == ("0.999999", "1.000000")
    assert ends(close, close, 0.999999999993, 1.0) == ("0.9999999999936", "0.999999999994")
    assert ends(1e-12, 0.3, 9e-13) == ("1e-12", "0.30")
    assert ends(1 / 3, 1 / 3, 0.2, 0.4) == ("0.333333", "0.333334")


@given(st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3, unique=True))
def test_ends_hold_a_prediction_and_not_its_neighbours(three):
    before, at, after = sorted(three)
    low, high = map(float, ends(at, at, before, after))
    assert before < low <= at <= high < after


def test_a_bound_stands_where_a_number_is_not_computed(monkeypatch):
    lower = measures()["lower_calibration_distance"]
    few = {**measures(), "lower_calibration_distance": replace(lower, maximum_rows=50)}
    monkeypatch.setattr("calibrant.findings.arrays.measures", lambda: few)
    y, v = near_one(400, 1)
    found = audit(y, v, n_resamples=0, random_state=0)
    told = found.measures["lower_calibration_distance"]
    assert told.value is None
    assert told.not_computed.startswith(f"It {proved(*found.ties.lower_distance_bracket)[1]}: that is proved")
    pooled = CalibrationSketch(1024).update(y, v).audit(n_resamples=0, random_state=0)
    told = pooled.measures["lower_calibration_distance"].not_computed
    assert told.startswith(f"It {proved(*pooled.ties.lower_distance_bracket)[1]}: that is proved")
    for page in (found.summary(), pooled.summary()):
        assert "not computed above" not in page.split("Where it errs")[0]


def _found(*segments):
    alike = dict.fromkeys(("n_tested", "n_beyond"), 9) | {"multicalibration_error": 0.1, "detectable": 0.01}
    features, search = {"c": tuple("abcde")}, {"left_out": {}, "max_depth": 1, "n_resamples": 99}
    test = (5.0, 0.001, True, 0.05, "search")
    return FoundSegments(*test, segments=segments, strongest=segments[0], features=features, **search, **alike)


def _segment(name, bias, where=(0.1, 0.9), where_bias=None, where_share=1.0):
    where_bias = bias if where_bias is None else where_bias
    direction = "too low" if where_bias > 0.0 else "too high"
    rest = (where, where_bias, where_share, 0.001, 0.001, 0.01)
    return FoundSegment((f"c = {name}",), 100, 0.5 + bias, 0.5, bias, Interval(-1.0, 1.0), direction, *rest)


def test_found_segments_are_told_with_the_error_of_the_rows_that_are_meant():
    whole_rows, of_range = _segment("a", 0.2), _segment("b", 0.0, (0.125, 0.25), -0.12, 0.3)
    said = found_in_words(_found(whole_rows, whole_rows))
    assert "each told with the error of all its rows: too low by 20 points" in said
    said = found_in_words(_found(whole_rows, of_range))
    assert "all its rows, or of the range of predictions that is given: too low by 20 points" in said
    assert "too high by 12 points between 0.125 and 0.25 where c = b" in said
    above = found_in_words(_found(of_range, whole_rows), above="c = b")
    assert "of the range" not in above  # told above with all of its rows


def test_errors_of_both_signs_are_told_though_those_told_first_are_of_one():
    ups, down = [_segment(name, 0.2) for name in "abcd"], _segment("e", -0.1)
    said = found_in_words(_found(*ups, down))
    assert said.endswith("; and 2 segments more, such as too high by 10 points where c = e.")
    assert found_in_words(_found(*ups)).endswith("; and 1 segment more.")
    assert "such as" not in found_in_words(_found(down, *ups))
    group = np.repeat(np.arange(5), 400)
    p = np.full(2_000, 0.5)
    y = (np.arange(2_000) % 400 < np.array([320, 310, 300, 290, 120])[group]).astype(float)
    table = pytest.importorskip("pyarrow").table({"y": y, "p": p, "c": group})
    segments = calibration_by_segment(table, y_true="y", y_prob="p", by=["c"])
    ordered = sorted(segments, key=lambda each: -each.bias)
    said = segments_in_words(ordered, ["c"])
    assert said.endswith("; and 2 more, such as c = 4, predictions too high by 20 points on average (400 rows).")


def test_a_range_of_the_test_says_that_certain_predictions_are_not_in_it():
    """A range that is printed up to 1 beside one that holds the rows at 1 as well: it may have fewer rows."""
    for low, high, told in (
        (0.59, 0.9999999, "without those of exactly 1,"),
        (1e-12, 0.4, "without those of exactly 0,"),
        (1e-12, 1.0 - 1e-12, "without those of exactly 0 or 1,"),
        (0.59, 0.9, ""),
    ):
        said = TestRegion(low, high, "too high", 294, 0.994, 0.922).summary()
        assert ("without" in said) == bool(told)
        assert told in said


_SETTLED = re.compile(r"noise|not clear|stand out by chance|may be chance|not chance|is real")


@pytest.mark.slow
@pytest.mark.usefixtures("blank_pictures")
@given(samples(max_rows=60), st.booleans())
@examples(15)
def test_what_only_a_test_settles_is_not_said_without_one(tmp_path_factory, sample, in_groups):
    y_true, y_prob, weight = sample
    groups = np.arange(y_true.size) // 2 if in_groups and np.isin(y_true, (0, 1)).all() else None
    found = audit(y_true, y_prob, sample_weight=weight, groups=groups, n_resamples=0)
    path = tmp_path_factory.mktemp("page") / "page.html"
    found.to_html(path)
    pages = [found.summary(), path.read_text(), *map(Region.summary, found.regions)]
    for page in pages:
        said = re.sub(r"\s+", " ", page)
        assert not _SETTLED.search(said), said[max(_SETTLED.search(said).start() - 150, 0) :][:300]


@pytest.mark.parametrize(
    ("share", "low", "said"),
    [
        (0.9, 0.2, " near 30%: about 10% happen (10 rows)"),
        (0.91, 0.2, " on average: 60% predicted, 50% happened (70 rows)"),
        (0.9, 0.4, " at 40%: about 10% happen (10 rows)"),
    ],
)
def test_an_example_of_nearly_all_rows_is_their_mean(share, low, said):
    where = Region(low, 0.4, 0.3, 0.15, 0.1, None, 10, share, 3.0)
    places = Places("too high", (where,), 0.6, 0.5, 70, classes=False)
    means = " on average: 60% predicted, 50% happened (70 rows)"
    assert places.sentence(places.examples()) == f"Too high{said}."
    assert places.sentence(()) == f"Too high{means}."
    assert replace(places, direction="too low").sentence(()) == "Too low."
    of_classes = replace(places, classes=True).sentence(places.examples())
    right = said.replace("happened", "were right").replace("happen ", "are right ")
    assert of_classes == f"Too confident of the likeliest class{right}."


@pytest.mark.parametrize("level", [0.02, 0.16])
def test_the_list_of_segments_is_sorted_and_bounded_at_the_level_of_the_audit(level):
    tested = SimpleNamespace(
        level=level,
        segments=(),
        segmented_by=("day",),
        segments_tested=True,
        found_segments=None,
        periods=(),
        classes=None,
    )
    page = Page(10_000)
    _parts(SimpleNamespace(**{**vars(tested), "segments": _NoneShown("x")}), page)
    said = page.text()
    for words in (
        f"(q at most {level:g})",
        f"at most {100 * level:g}% are expected",
        f"{100 - 100 * level:g}% confidence",
    ):
        assert words in said


class _NoneShown(str):
    """Segments that are there, and of which none is listed."""

    def __getitem__(self, _):
        return ""


def test_a_segment_has_one_distance_where_its_bracket_is_narrow():
    table = {"y": [0, 1] * 300, "p": [0.4, 0.5] * 300, "g": ["a", "b"] * 300}
    segment, *_ = calibration_by_segment(pandas.DataFrame(table), y_true="y", y_prob="p", by=["g"])
    told = [
        segment_line(replace(segment, lower_distance_bracket=Bracket(*ends)), chance=False)
        for ends in ((0.0351999999, 0.0352000097), (0.00035199999, 0.00035200001), (0.0351, 0.0354))
    ]
    assert [each.split(": ")[1].split(",")[0] for each in told] == [
        "distance 0.0352",
        "distance 0.00035",
        "distance 0.0351 to 0.0354",
    ]
    narrow = replace(segment, lower_distance_bracket=Bracket(0.0351999999, 0.0352000097))
    assert "distance 0.0352." in segments_in_words([narrow], ["g"], chance=False)


@pytest.mark.parametrize(
    ("where", "bias", "said"),
    [
        (None, 0.1, "nothing is said about chance"),
        ((0.0, 1.0), 0.1, "predictions too low by 10 points on average"),
        ((0.0, 1.0), None, "predictions too low"),
        ((0.25, 0.5), 0.1, "predictions too low in [0.25, 0.5)"),
        ((0.5, 1.0), 0.1, "predictions too low in [0.5, 1]"),
    ],
)
def test_a_segment_errs_on_average_or_in_a_range_or_is_not_tested(where, bias, said):
    assert segment_in_words(SimpleNamespace(where=where, bias=bias, direction="too low")) == said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n_tested": 1}, "No segment made of c (by it) could be looked at, only all rows together: a segment needs "),
        (
            {},
            "Of 9 segments made of c (by it), none is proved off, allowing for all of them (p = 0.3). Segments of",
        ),
        (
            {"impossible": True},
            "Of 9 segments made of c (by it), none is proved off, allowing for all of them (p = 0.3).",
        ),
    ],
)
def test_a_search_that_finds_nothing_says_what_it_could_look_at(change, said):
    certain = SimpleNamespace(summary=lambda: "3 rows were wrong.") if change.pop("impossible", False) else None
    search = SimpleNamespace(
        **{"features": {"c": ()}, "searched": "by it", "pvalue": 0.3, "n_tested": 9, "segments": ()} | change,
        impossible=certain,
    )
    found = found_in_words(search)
    assert found.startswith(said)
    assert found.endswith(" Not among them: 3 rows were wrong.") == (certain is not None)


@pytest.mark.parametrize("n", [1, 3])
def test_periods_without_enough_evidence_are_told_by_the_last_of_them(n):
    readings = [SimpleNamespace(reject=False, pvalue=1.0 / (1 + k), level=0.05, evalue=1.0 + k) for k in range(n)]
    periods = [SimpleNamespace(period=k, reading=each, since_reference=None) for k, each in enumerate(readings)]
    said = f"No drift is proved in {n} period{'s' * (n > 1)} (anytime-valid p = {'1' if n == 1 else '0.34'})."
    assert periods_in_words(periods) == said


@pytest.mark.parametrize(
    ("lower", "width", "short"),
    [
        (0.01, 0.99e-6, "0.0100"),
        (0.01, 1.1e-6, "0.01 to 0.0101"),
        (0.0001, 0.99e-7, "0.0001"),
        (0.0001, 1.1e-7, "0.0001 to 0.000101"),
    ],
)
def test_a_bracket_is_one_number_within_a_millionth_and_a_thousandth_of_it(lower, width, short):
    told = proved(lower, lower + width)
    assert (" to " in told[0]) == told[1].startswith("lies between ") == (" to " in short)
    assert (told[1].startswith("is ") and "proved to within" in told[1]) == (" to " not in short)


@pytest.mark.parametrize("way", ["too confident", "too high"])
@pytest.mark.parametrize(("errors", "shift"), [(2.9, False), (3.1, True), (-2.9, False), (-3.1, True)])
@pytest.mark.parametrize("n", [1, 400])
def test_a_slope_is_told_as_a_shift_where_the_mean_is_off_by_three_standard_errors(way, errors, shift, n):
    mean = 0.2
    off = errors * np.sqrt(mean * (1.0 - mean) / n)
    one = SimpleNamespace(
        reading=SimpleNamespace(alternative=way), mean_prediction=mean, base_rate=mean + off, n_rows=n
    )
    told = f"forecasts too {'low' if errors > 0 else 'high'}"
    assert _which_way(one) == (told if shift and way == "too confident" else way)


@pytest.mark.parametrize(("evalue", "is_enough"), [(19.9, False), (20.1, True), (16.5, False)])
def test_evidence_is_enough_from_one_over_the_level_on(evalue, is_enough):
    assert enough(SimpleNamespace(evalue=evalue, level=0.05)) is is_enough
